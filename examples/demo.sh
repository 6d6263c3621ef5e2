#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the project and shows what it computes. The first part prints the frame rate and the
# histogram of the centre of the picture over 150 frames. The second follows something by its
# histograms: in a window where there is a display, else in trackdemo.webm and trackdemo.png in the
# current folder.
#
#   examples/demo.sh [-o FOLDER]                   a moving test picture
#   examples/demo.sh [-o FOLDER] FILE [TARGET]     a video file
#   examples/demo.sh [-o FOLDER] URI [TARGET]      such as https://... or rtsp://...
#   examples/demo.sh [-o FOLDER] /dev/videoN       150 frames of a camera
#
# TARGET is what to follow, x,y,width,height in pixels of the first frame; without it, the demo
# follows what moves. With -o the files go to FOLDER, and no window opens. Missing packages are
# installed first (Debian 12 and 13, Ubuntu 24.04). Ctrl-C ends either part early.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"

output=() target=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '4,16s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -o | --output)
      [ -d "${2:-}" ] && [ -w "$2" ] || die "$1 needs a folder that can be written to, not '${2:-}'"
      output=(--output "$(realpath "$2")"); shift 2 ;;
    -*) die "unknown option $1; see examples/demo.sh --help" ;;
    *) break ;;
  esac
done
[ $# -le 2 ] || die "one FILE, URI or /dev/videoN and a target x,y,width,height, not $# arguments"
input=${1:-}
if [ -n "${2:-}" ]; then
  [[ $2 =~ ^-?[0-9]+,-?[0-9]+,[0-9]+,[0-9]+$ ]] ||
    die "the target $2 is no box: give x,y,width,height in pixels"
  target=("--target=$2")
fi
case $input in
  '') arguments=(--test) ;;
  /dev/video*)
    [ -c "$input" ] || die "no camera at $input"
    [ -r "$input" ] || die "no permission to read $input; its group is $(stat -c %G "$input")"
    arguments=("$input") ;;
  *://*) arguments=("$input") ;;
  *)
    [ ! -d "$input" ] || die "$input is a folder; give a video file"
    [ -f "$input" ] || die "no such file: $input"
    [ -r "$input" ] || die "no permission to read $input"
    arguments=("$(realpath "$input")") ;;
esac

install_packages run
configure "$root/build" -Dexamples=enabled
build "$root/build" histquery trackdemo gstcudaintegralhist

echo
export GST_PLUGIN_PATH="$root/build/gst/elements${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
"$root/build/examples/histquery" --frames 150 "${arguments[@]}"
echo
exec "$root/build/examples/trackdemo" "${output[@]}" "${target[@]}" "${arguments[@]}"

#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the project and shows what it computes: the histogram of the centre of the picture over time, and the frame rate.
#
#   examples/demo.sh                   a moving test picture
#   examples/demo.sh FILE              a video file
#   examples/demo.sh URI               such as https://... or rtsp://...
#   examples/demo.sh /dev/videoN       150 frames of a camera
#
# Missing packages are installed first (Debian 12 and 13, Ubuntu 24.04). Ctrl-C ends the video early.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"

input=${1:-}
[ $# -le 1 ] || die "one FILE, URI or /dev/videoN, not $# arguments"
case $input in
  '') arguments=(--test) ;;
  -h | --help) sed -n '4,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) die "unknown option $input; see examples/demo.sh --help" ;;
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
configure "$root/build"
build "$root/build" histquery gstcudaintegralhist

echo
export GST_PLUGIN_PATH="$root/build/gst/elements${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
exec "$root/build/examples/histquery" "${arguments[@]}"

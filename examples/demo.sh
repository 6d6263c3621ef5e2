#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the project and shows what it computes: for 150 frames the histogram of the centre of the
# picture, and the frame rate; then a person who is tracked by histograms, in a window. Without a
# display, it writes trackdemo.webm and trackdemo.png to the current folder instead.
#
#   examples/demo.sh [OPTION...]                    test pictures, and a street that is drawn
#   examples/demo.sh [OPTION...] FILE [TARGET]      a video file
#   examples/demo.sh [OPTION...] URI [TARGET]       such as https://... or rtsp://...
#   examples/demo.sh [OPTION...] /dev/videoN        150 frames of a camera
#
#   -o FOLDER      writes the files there, and opens no window
#   -DNAME=VALUE   an option of Meson for the build, such as -Dcuda=disabled or -Dcuda-archs=90
#
# TARGET is the box to follow: x,y,width,height in pixels of the first frame. Default: what moves.
# Missing packages are installed first (Debian 12 and 13, Ubuntu 24.04). Ctrl-C ends either part
# early.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"

output=() target=() meson_options=() rest=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '/^# Builds/,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -o | --output)
      [ -d "${2:-}" ] && [ -w "$2" ] || die "$1 needs a folder that can be written to, not '${2:-}'"
      output=(--output "$(realpath "$2")"); shift 2 ;;
    -D?*=*) meson_options+=("$1"); shift ;;
    -*) die "unknown option $1; see examples/demo.sh --help" ;;
    *) rest+=("$1"); shift ;;
  esac
done
[ ${#rest[@]} -le 2 ] ||
  die "one FILE, URI or /dev/videoN and a target x,y,width,height, not ${#rest[@]} arguments"
input=${rest[0]:-}
if [ -n "${rest[1]:-}" ]; then
  [[ ${rest[1]} =~ ^-?[0-9]+,-?[0-9]+,[0-9]+,[0-9]+$ ]] ||
    die "the target ${rest[1]} is not a box: give x,y,width,height in pixels"
  target=("--target=${rest[1]}")
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

# tell_progress LOG: says how far the build is, on a terminal every second, else every ten
tell_progress() {
  local seconds=0 step
  while sleep 1 >/dev/null 2>&1; do
    seconds=$((seconds + 1))
    step=$(grep -o '^\[[0-9]*/[0-9]*\]' "$1" | tail -n 1 || true)
    if [ -t 1 ]; then
      printf '\r\033[KBuilding %s, %d s' "${step:-the build files}" "$seconds"
    elif [ $((seconds % 10)) -eq 0 ]; then
      echo "Building ${step:-the build files}, $seconds s"
    fi
  done
}

# Tells whether there is an NVIDIA GPU: a card, one of WSL or one of Jetson.
has_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || [ -e /dev/nvhost-gpu ]; }

# The output of the build goes to the log, and also to the screen if the build fails.
build_demo() {
  local log teller status=0
  log=$(mktemp)
  echo "Building in $root/build"
  if [ ! -e "$root/build/build.ninja" ] && [[ " ${meson_options[*]} " != *" -Dcuda=disabled "* ]] \
    && { command -v nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } >/dev/null; then
    if [[ " ${meson_options[*]} " = *" -Dcuda"* ]] || has_gpu; then
      echo "with CUDA, some minutes longer than without: see -Dcuda=disabled"
    else
      echo "without CUDA, as this machine has no NVIDIA GPU: -Dcuda=enabled builds for one"
      meson_options+=(-Dcuda=disabled)
    fi
  fi
  tell_progress "$log" &
  teller=$!
  trap 'kill "$teller" 2>/dev/null || true; rm -f "$log"' EXIT
  trap 'echo; echo "demo.sh: the build was stopped; the next one goes on with it" >&2; exit 130' INT
  (
    configure "$root/build" -Dexamples=enabled "${meson_options[@]}"
    build "$root/build" histquery trackdemo gstintegralhist bindings
  ) >"$log" 2>&1 || status=$?
  kill "$teller" 2>/dev/null || true
  wait "$teller" 2>/dev/null || true
  trap - EXIT INT
  [ ! -t 1 ] || printf '\r\033[K'
  if [ $status -ne 0 ]; then
    tail -n 40 "$log" >&2
    die "the build failed; all of what it said is in $log"
  fi
  rm -f "$log"
  echo "Built in $SECONDS s"
}

install_packages run
SECONDS=0
build_demo

echo
export GST_PLUGIN_PATH="$root/build/gst/elements${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
"$root/build/examples/histquery" --frames 150 "${arguments[@]}"
echo
"$root/build/examples/trackdemo" "${output[@]}" "${target[@]}" "${arguments[@]}"
echo "A shell to try launch lines in: meson devenv -C $root/build"

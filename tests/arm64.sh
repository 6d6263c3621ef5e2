#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds for arm64 without CUDA, on amd64, and runs tests of the CPU in qemu, an emulator of single
# processes. The last line is: N passed, N failed, N skipped.
#
#   tests/arm64.sh [-c CACHE] [TEST...]
#
#   tests/arm64.sh                 gst-check programs and inthist-check: 25 minutes on two cores
#   tests/arm64.sh meta region     these tests; names are those of `meson test`
#   tests/arm64.sh -c /var/tmp/x   keeps what it makes there
#
# Needs root. The first run makes a Debian 13 of amd64 with libraries of arm64, and installs nothing
# but mmdebstrap on the machine. It keeps that Debian and a compiler cache in CACHE, which is
# ~/.cache/gst-integralhist-arm64 where nothing else is said: 3 GB. It builds in build-arm64/.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/gst-integralhist-arm64
while [ $# -gt 0 ]; do
  case $1 in
    -c) cache=${2:?-c needs a folder}; shift 2 ;;
    -h | --help) sed -n '4,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown option $1; see tests/arm64.sh --help" ;;
    *) break ;;
  esac
done
[ "$(id -u)" -eq 0 ] || die "a Debian in a folder needs root: sudo tests/arm64.sh"
[ "$(uname -m)" = x86_64 ] || die "this is $(uname -m). It cross-builds on x86_64 only"
mkdir -p "$cache"
cache=$(realpath "$cache")

# Mounts are this script's own, so that none is left however it ends.
if [ -z "${INTHIST_OWN_MOUNTS:-}" ]; then
  export INTHIST_OWN_MOUNTS=1
  exec unshare --mount --propagation private "$BASH" "${BASH_SOURCE[0]}" -c "$cache" "$@"
fi

# what runs on amd64, and what is linked to
packages=(g++-aarch64-linux-gnu ccache meson ninja-build pkgconf qemu-user libglib2.0-dev-bin
  libexpected-dev fonts-dejavu-core)
libraries=(libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev libgstreamer-plugins-bad1.0-dev
  libhwy-dev libtbb-dev libcairo2-dev gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad)
packages+=("${libraries[@]/%/:arm64}")

SECONDS=0
debian=$cache/debian
if [ "$(cat "$debian/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  run_packages=(mmdebstrap debian-archive-keyring)
  install_packages run
  rm -rf --one-file-system "$debian"
  mmdebstrap --mode=root --variant=apt --architectures=amd64,arm64 \
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    --include="$(IFS=,; echo "${packages[*]}")" trixie "$debian" ||
    die "no Debian for arm64: the messages of mmdebstrap are above"
  echo "${packages[*]}" >"$debian/packages"
fi
made=$SECONDS

dir=$root/build-arm64
mkdir -p "$debian/source" "$debian/build" "$debian/ccache" "$dir" "$cache/ccache"
mount --bind "$root" "$debian/source"
mount -o remount,bind,ro "$debian/source"
mount --bind "$dir" "$debian/build"
mount --bind "$cache/ccache" "$debian/ccache"
mount --rbind /dev "$debian/dev"
mount -t proc proc "$debian/proc"
mount --rbind /sys "$debian/sys"  # a plugin of GStreamer's looks for processors there

# inside COMMAND...: runs it in that Debian
inside() {
  chroot "$debian" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/ccache INTHIST_CASES=small GST_REGISTRY_FORK=no CK_TIMEOUT_MULTIPLIER=20 "$@"
}

# The emulated processes cannot start the Python and the shell of amd64, so there are no bindings.
if [ ! -e "$dir/build.ninja" ]; then
  inside meson setup --cross-file /source/tests/arm64.ini -Dcuda=disabled -Dtests=enabled \
    -Dintrospection=disabled -Dwerror=true /build /source
fi
inside meson compile -C /build
built=$SECONDS

# Benchmarks take long in qemu, and say nothing there. Nor does tuning: it counts milliseconds
# beside threads that take every core.
left_out=''
if [ $# -eq 0 ]; then
  readarray -t all < <(
    inside meson test -C /build --no-rebuild --list --suite check | sed 's/.* \/ //')
  for name in "${all[@]}"; do
    case $name in
      *-benchmark | answer-costs | pipelines) ;;
      tuning) left_out=$name ;;
      *) set -- "$@" "$name" ;;
    esac
  done
  # without a name meson test would take all, those too that cannot start there
  [ $# -gt 0 ] || die "meson test lists no test of the suite check; see its messages above"
fi
rm -f "$dir/meson-logs/testlog.json"
status=0
inside meson test -C /build --no-rebuild --print-errorlogs --timeout-multiplier 4 "$@" || status=$?
[ -e "$dir/meson-logs/testlog.json" ] || die "meson test did not run (status $status)"
echo "seconds: $made to make Debian, $((built - made)) to build, $((SECONDS - built)) to test"
[ -z "$left_out" ] || printf '{"name": "%s", "result": "SKIP", "stdout": "SKIP: %s"}\n' \
  "$left_out" 'it measures times, which are those of an emulator' >>"$dir/meson-logs/testlog.json"
python3 "$root/tests/count.py" "$dir/meson-logs/testlog.json"
exit $status

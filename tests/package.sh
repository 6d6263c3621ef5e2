#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the Debian packages of the last commit in a clean root, and tests them in others that have
# nothing but a minimal Debian. The last line is: N passed, N failed, N skipped.
#
#   tests/package.sh [-r RELEASE] [-k] [-c] [-o FOLDER]
#
#   -r RELEASE   bookworm (the default), trixie or later
#   -k           keeps the minimal root and downloaded packages for the next run, in
#                gst-integralhist-packages of XDG_CACHE_HOME, or of ~/.cache
#   -c           with CUDA, by the toolkit in /usr/local/cuda of this machine
#   -o FOLDER    the packages and the log of the build go there
#
# Needs root, debootstrap, 4 GB in TMPDIR (with -k 2 of them in the cache), and Debian's mirror.
# ccache is used where CCACHE_DIR is set. DEB_BUILD_OPTIONS (nocheck) and DEB_CUDA_ARCHS go to the
# build.
set -euo pipefail
cd "$(dirname "$0")/.."

release=bookworm keep='' cuda='' out=''
while getopts r:kco: option; do
  case $option in
    r) release=$OPTARG ;;
    k) keep=1 ;;
    c) cuda=1 ;;
    o) out=$(realpath -m "$OPTARG") ;;
    *) sed -n '4,18s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
die() { echo "package.sh: $*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die "roots are made by root: run it with sudo"
command -v debootstrap >/dev/null || die "debootstrap is missing; install the package debootstrap"
[ -z "$cuda" ] || [ -x /usr/local/cuda/bin/nvcc ] || die "there is no /usr/local/cuda/bin/nvcc"

work=$(mktemp -d "${TMPDIR:-/tmp}/package.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
# no other user can have made it, unlike a folder with a known name in /tmp
cache=$work/cache
[ -z "$keep" ] || cache=${XDG_CACHE_HOME:-$HOME/.cache}/gst-integralhist-packages
base=$cache/$release
mkdir -p "$cache/archives-$release/partial" "$work/packages"
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "${proxy:-}" ] || export http_proxy=$proxy

passed=0 failed=0 skipped=0
# check NAME COMMAND...: prints one line, and the output of a command that fails or skips
check() {
  local name=$1 log=$work/log start=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "PASS: $name ($((SECONDS - start)) s)"
    skipped=$((skipped + $(grep -c '^SKIP: ' "$log" || true)))
    grep '^SKIP: ' "$log" || true
  else
    failed=$((failed + 1))
    echo "FAIL: $name"
    tail -n 40 "$log" | sed 's/^/    /'
  fi
}

# within ROOT COMMAND...: runs it in the root. Its mounts and processes end with it.
within() {
  local root=$1
  shift
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    root=$1 archives=$2 packages=$3 cuda=$4
    shift 4
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --bind "$archives" "$root/var/cache/apt/archives"
    mkdir -p "$root/packages" "$root/ccache"
    mount --bind "$packages" "$root/packages"
    [ -z "${CCACHE_DIR:-}" ] || mount --bind "$CCACHE_DIR" "$root/ccache"
    if [ -n "$cuda" ]; then
      mkdir -p "$root/usr/local/cuda"
      mount --bind "$(readlink -f /usr/local/cuda)" "$root/usr/local/cuda"
    fi
    path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      ${http_proxy:+http_proxy="$http_proxy"} PATH="${CCACHE_DIR:+/usr/lib/ccache:}$path" "$@"' \
    within "$root" "$cache/archives-$release" "$work/packages" "$cuda" "$@" </dev/null
}
new_root() { cp -a --reflink=auto "$base" "$1"; }
install="apt-get -qq install -y --no-install-recommends"

if [ ! -e "$base/ready" ]; then
  rm -rf --one-file-system "$base"
  debootstrap --variant=minbase "$release" "$base" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; die "debootstrap $release failed; its messages are above"; }
  # dpkg need not wait for the disk: a root that breaks is made anew
  echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/unsafe-io"
  touch "$base/ready"
fi
cp /etc/resolv.conf "$base/etc/resolv.conf"
repository=$base/etc/apt/sources.list.d/packages.list
rm -f "$repository"  # an earlier run's
within "$base" apt-get -qq update

echo "==== the build, in a clean root of $release"
build=$work/build
new_root "$build"
mkdir -p "$build/src/gst-integralhist"
git=(git -c safe.directory='*')  # the checkout may be another user's, for whom clone has no such
if "${git[@]}" rev-parse --git-dir >/dev/null 2>&1; then
  "${git[@]}" archive HEAD | tar -x --no-same-owner -C "$build/src/gst-integralhist"
else
  cp -a . "$build/src/gst-integralhist"
fi
cat >"$build/prepare" <<PREPARE
set -e
$install build-essential lintian ${CCACHE_DIR:+ccache}
cd /src/gst-integralhist
apt-get -qq build-dep -y --no-install-recommends ./
PREPARE
check 'packages that the build takes' within "$build" sh /prepare

# 4: a function that the symbols file does not know is an error, not only one that is gone
cat >"$build/make" <<MAKE
set -e
export DPKG_GENSYMBOLS_CHECK_LEVEL=4 CCACHE_DIR=${CCACHE_DIR:+/ccache} CCACHE_NOHASHDIR=1
export DEB_CUDA_ARCHS=${DEB_CUDA_ARCHS:-} DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-}"
[ -n "\$CCACHE_DIR" ] || unset CCACHE_DIR
cd /src/gst-integralhist
dpkg-buildpackage -us -uc ${cuda:+-d --build-profiles=pkg.gst-integralhist.cuda}
cp ../*.deb ../*.changes ../*.dsc ../*.tar.* ../*.buildinfo /packages
MAKE
check 'dpkg-buildpackage' within "$build" sh -c 'sh /make >/packages/build.log 2>&1 ||
  { tail -n 40 /packages/build.log; exit 1; }'
if [ -n "$out" ]; then mkdir -p "$out" && cp "$work/packages/"* "$out"; fi
if [ $failed -gt 0 ]; then
  echo "nothing was built, so there is nothing to test"
  echo "$passed passed, $failed failed, $skipped skipped"
  exit 1
fi

names=$(sed -n 's/^Package: //p' debian/control | tr '\n' ' ')
each_package() {
  local name
  for name in $names; do
    set -- "$work/packages/${name}_"*.deb
    [ -e "$1" ] || { echo "no package $name was built"; return 1; }
    dpkg-deb -c "$1" | grep -v '/$' | grep -v "/usr/share/doc/$name/\(changelog\|copyright\)" ||
      { echo "$name is empty"; return 1; }
  done
}
check "packages: $names" each_package

short_tests() {
  if [[ " ${DEB_BUILD_OPTIONS:-} " = *" nocheck "* ]]; then
    echo "SKIP: the tests of the build: DEB_BUILD_OPTIONS has nocheck"
    return
  fi
  sed -n '/^Ok: /,/^Timeout: /p' "$work/packages/build.log"
  grep -E '^Ok: +[1-9]' "$work/packages/build.log" &&
    grep -E '^Fail: +0' "$work/packages/build.log"
}
check 'the build ran its short tests' short_tests

lintian_silent() {
  local said status=0
  said=$(within "$build" sh -c \
    'lintian --allow-root --pedantic /packages/*.changes 2>&1') || status=$?
  echo "$said"
  [ $status -eq 0 ] && [ -z "$said" ]
}
check 'lintian --pedantic says nothing' lintian_silent

no_runpath() {
  local found=0 file headers
  for file in "$work/packages/"*.deb; do dpkg-deb -x "$file" "$work/unpacked"; done
  while IFS= read -r file; do
    found=$((found + 1))
    headers=$(within "$build" readelf -d "/packages/unpacked/$file") || return 1
    ! grep -E 'RPATH|RUNPATH' <<<"$headers" || { echo "$file has a path"; return 1; }
  done < <(cd "$work/unpacked" && find . -type f -name '*.so*')
  [ $found -eq 3 ] || { echo "$found libraries, not the library, the plugin and nvmot"; return 1; }
}
mkdir "$work/packages/unpacked" && ln -s packages/unpacked "$work/unpacked"
check 'no RPATH and no RUNPATH' no_runpath

# the build found its optional dependencies, in whatever way its packages were chosen
analytics() {
  [ "$release" != bookworm ] || { echo "SKIP: GstAnalytics is of GStreamer 1.24"; return; }
  within "$build" sh -c 'readelf -d $(find /packages/unpacked -name libgstintegralhist.so)' |
    grep 'NEEDED.*libgstanalytics-1.0'
}
check 'GstAnalytics is in the plugin' analytics

# a repository, as that of a distribution: apt itself finds what a package depends on
within "$build" sh -c 'cd /packages && dpkg-scanpackages -m . >Packages 2>/dev/null'
echo "deb [trusted=yes] file:/packages ./" >"$repository"
within "$base" apt-get -qq update

# Each test has a root with nothing but the packages that it names
# tests: lines of "NAME PACKAGE..." of debian/tests/control
tests() {
  awk -v RS= '{ gsub(/[\n,]/, " "); sub(/^Tests: */, ""); sub(/ *Depends: */, " "); print }' \
    debian/tests/control
}
run_test() {
  local name=$1 root=$work/$1
  shift
  new_root "$root"
  cp -a debian/tests "$root/tests"
  within "$root" sh -c "$install $* >/dev/null && mkdir /scratch"
  within "$root" env AUTOPKGTEST_TMP=/scratch "/tests/$name"
}
echo "==== the packages, in clean roots"
while read -r name packages; do
  # shellcheck disable=SC2086
  check "debian/tests/$name" run_test "$name" $packages
  rm -rf --one-file-system "${work:?}/$name"
done < <(tests)

inspect() {
  local said
  said=$(within "$work/all" gst-inspect-1.0 cudaintegralhist)
  head -n 20 <<<"$said"
  grep -qE "^ *Version +$(sed -nE '1s/.*\(([0-9.]+).*/\1/p' debian/changelog)$" <<<"$said" &&
    grep -qE '^ *Filename +(/usr)?/lib/[^/]+/gstreamer-1.0/libgstintegralhist.so$' <<<"$said"
}
exists() {
  local command
  command=$(sed -n 's/^\(gst-inspect-1.0 --exists .*\) && .*/\1/p' docs/installing.md)
  # shellcheck disable=SC2086
  within "$work/all" $command
}
together() {
  new_root "$work/all"
  within "$work/all" sh -c "$install $names gstreamer1.0-tools"
}
leaves_nothing() {
  within "$work/all" sh -c "dpkg --purge $names" &&
    ! find "$work/all/usr" "$work/all/etc" "$work/all/var/lib/dpkg/info" -iname '*integralhist*' |
      grep .
}
check 'all packages together' together
check 'gst-inspect-1.0 finds the plugin, of this version' inspect
check 'gst-inspect-1.0 --exists, as docs/installing.md has it' exists
check 'the packages leave nothing behind' leaves_nothing

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

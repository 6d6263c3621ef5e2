#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds and tests the checkout in clean roots of other releases, and ends in the sum of all:
# N passed, N failed, N skipped. Needs root, debootstrap, and 3 GB for each release.
#
#   tests/releases.sh [-k FOLDER] [-r RELEASE]... [-o TARGET]... [-t 'MESON TEST ARGUMENTS']
#       [MESON OPTION...]
#
#   tests/releases.sh                            trixie (1.26), sid (1.28) and noble (1.24)
#   tests/releases.sh -k ~/.cache/roots -r sid   keeps the root, and its build, for the next run
#   tests/releases.sh -r trixie -t 'meta crop'   some of the tests; -o TARGET builds no other
#
# A release of which no root can be made here is one that is skipped. The tests run as with
# tests/run.sh, without CUDA, over small cases. Logs lie beside the roots, or in the folder that
# the last lines name.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

folder='' releases=() pass=()
while [ $# -gt 0 ]; do
  case $1 in
    -k) folder=$(realpath -m "${2:?-k needs a folder}"); shift 2 ;;
    -r) releases+=("${2:?-r needs a release}"); shift 2 ;;
    -o | -t) pass+=("$1" "${2:?$1 needs an argument}"); shift 2 ;;
    -h | --help) sed -n '4,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) break ;;
    *) die "$1 is no option; see tests/releases.sh --help" ;;
  esac
done
[ ${#releases[@]} -gt 0 ] || releases=(trixie sid noble)
[ "$(id -u)" -eq 0 ] || die "roots are made by root: start this with sudo"
command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"

kept=$folder
[ -n "$kept" ] || folder=$(mktemp -d "${TMPDIR:-/tmp}/releases.XXXXXX")
mkdir -p "$folder"
remove_roots() {
  [ -n "$kept" ] || for release in "${releases[@]}"; do
    rm -rf --one-file-system "${folder:?}/$release"
  done
}
trap remove_roots EXIT

# make_root RELEASE: one that was interrupted is made anew
make_root() {
  local release=$1 root=$folder/$1 options=(--variant=minbase) script=()
  [ ! -e "$root/.ready" ] || return 0
  case $release in
    noble)
      options+=(--components=main,universe)
      # a debootstrap that is older than the release
      [ -e /usr/share/debootstrap/scripts/noble ] || script=('' gutsy)
      ;;
  esac
  rm -rf --one-file-system "$root"
  debootstrap "${options[@]}" "$release" "$root" "${script[@]}" && touch "$root/.ready"
}

# inside RELEASE COMMAND...: runs in the root. Its mounts are its own, and end with it.
inside() {
  local root=$folder/$1
  shift
  # shellcheck disable=SC2016  # the root's shell expands these
  unshare --mount --fork -- bash -c '
    root=$1; shift
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 1
    exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      INTHIST_CASES=small PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      sh -c "cd /src && exec \"\$@\"" sh "$@"' bash "$root" "$@"
}

# copy_checkout RELEASE: what git knows or would add. A file that is as it was keeps its time, and
# others have that of the copy, so that a kept build makes anew what changed.
copy_checkout() {
  local root=$folder/$1 file
  mkdir -p "$root/src"
  rm -rf "$root/src.new" && mkdir "$root/src.new"
  (cd "$checkout" && git -c safe.directory='*' ls-files -coz --exclude-standard |
    while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
    tar --null -T - -cf -) | tar -C "$root/src.new" -xmf -
  (cd "$root/src.new" && find . -type f -print0 | while IFS= read -r -d '' file; do
    ! cmp -s "$file" "../src/$file" || touch -r "../src/$file" "$file"
  done)
  rm -rf "$root/src" && mv "$root/src.new" "$root/src"
  cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
  # how this machine reaches the network
  grep -lis 'Acquire' /etc/apt/apt.conf /etc/apt/apt.conf.d/* | while read -r file; do
    cp "$file" "$root/etc/apt/apt.conf.d/"
  done || true
  local trusted=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  if [ -e "$trusted" ]; then
    cp "$trusted" "$root/etc/trusted.crt"
    printf '[global]\ncert = /etc/trusted.crt\n' >"$root/etc/pip.conf"
  fi
}

passed=0 failed=0 skipped=0 table=()
for release in "${releases[@]}"; do
  log=$folder/$release.log
  echo "== $release: $log"
  if ! make_root "$release" >"$log" 2>&1; then
    skipped=$((skipped + 1))
    table+=("SKIP: $release: no root could be made: $(grep '^[EW]:' "$log" | tail -1)")
    continue
  fi
  copy_checkout "$release"
  inside "$release" tests/run.sh -b /build "${pass[@]}" -Dcuda=disabled "$@" >"$log" 2>&1 || true
  grep -E '^(SKIP|FAIL): ' "$log" || true
  version=$(inside "$release" pkg-config --modversion gstreamer-1.0 2>/dev/null || echo unknown)
  if [[ $(tail -1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + BASH_REMATCH[3]))
    table+=("$release, GStreamer $version: ${BASH_REMATCH[0]}")
  else
    failed=$((failed + 1))
    tail -20 "$log"
    table+=("$release, GStreamer $version: did not get to its tests, see $log")
  fi
done
printf '%s\n' "${table[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

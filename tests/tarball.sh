#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Makes the tarball of the last commit with `meson dist`, and builds and tests what is in it. The
# last line is: N passed, N failed, N skipped.
#
#   tests/tarball.sh [-o FOLDER] [-- ARGUMENTS OF tests/run.sh]
#
#   tests/tarball.sh -o release     all tests; the tarball goes to release/
#   tests/tarball.sh -- -o smoke-tests -t '--suite smoke' -Dcuda=disabled     a few
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/setup.sh

out=''
while getopts o: option; do
  case $option in
    o) out=$(realpath -m "$OPTARG") ;;
    *) sed -n '4,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
install_packages test
work=$(mktemp -d "${TMPDIR:-/tmp}/tarball.XXXXXX")
trap 'rm -rf "$work"' EXIT
# for the git that Meson runs, too: the checkout may be another user's
printf '[safe]\n\tdirectory = *\n' >"$work/gitconfig"
export GIT_CONFIG_GLOBAL=$work/gitconfig
git rev-parse --git-dir >/dev/null 2>&1 || die "a tarball is made from a git repository"
passed=0 failed=0
check() {
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL: $1"; fi
}

meson setup "$work/build" -Dcuda=disabled >"$work/log" || { cat "$work/log"; exit 1; }
meson dist -C "$work/build" --no-tests --allow-dirty >"$work/log" || { cat "$work/log"; exit 1; }
name=gst-integralhist-$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
tarball=$work/build/meson-dist/$name.tar.xz
[ -e "$tarball" ] || die "meson dist made no $name.tar.xz"
tar -C "$work" -xf "$tarball"

files_of() { (cd "$1" && find . ! -type d | sed 's,^\./,,' | LC_ALL=C sort); }
committed() { git ls-tree -r --name-only HEAD | LC_ALL=C sort; }
checksum() { (cd "$work/build/meson-dist" && sha256sum --quiet -c "$name.tar.xz.sha256sum"); }
check 'the tarball has what git knows' diff <(committed) <(files_of "$work/$name")
check 'the checksum' checksum
if [ -n "$out" ]; then mkdir -p "$out" && cp "$work/build/meson-dist/$name".* "$out"; fi

"$work/$name/tests/run.sh" "$@" 2>&1 | tee "$work/log" || true
counts=$(tail -n 1 "$work/log")
[[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] ||
  die "tests/run.sh ended without a line of counts"
echo "$((passed + BASH_REMATCH[1])) passed, $((failed + BASH_REMATCH[2])) failed," \
  "${BASH_REMATCH[3]} skipped"
[ $((failed + BASH_REMATCH[2])) -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs what is missing, builds, runs all tests, and ends in: N passed, N failed, N skipped.
# Tests see none of the caller's environment but what `bare` of tools/setup.sh names.
#
#   tests/run.sh [-b BUILD_DIR] [-o TARGET]... [-t 'MESON TEST ARGUMENTS'] [MESON OPTION...]
#
#   tests/run.sh                                         in build/
#   tests/run.sh -b build-cpu -Dcuda=disabled            without CUDA, in build-cpu/
#   tests/run.sh -t '--no-suite python'                  some of the tests
#   tests/run.sh -o threaded-tests -t '--suite threads'  builds no others
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"

dir=$root/build
target=() test_arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    -b) dir=$(realpath -m "${2:?-b needs a directory}"); shift 2 ;;
    -o) target+=("${2:?-o needs a target}"); shift 2 ;;
    -t) read -ra test_arguments <<<"${2:?-t needs arguments}"; shift 2 ;;
    -h | --help) sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) break ;;
  esac
done
for option; do [[ $option = -* ]] || die "$option is no Meson option; see tests/run.sh --help"; done

SECONDS=0
install_packages test
configure "$dir" -Dtests=enabled -Dexamples=enabled -Ddocs=auto "$@"
configured=$SECONDS
build "$dir" "${target[@]}"
built=$SECONDS
case " ${test_arguments[*]} " in
  *" --no-suite python "*) python=no ;;
  *" --suite python "* | *" --suite build "*) python=yes ;;
  *" --suite "*) python=no ;;
  *) python=yes ;;
esac
if [ $python = yes ]; then
  python_venv "$dir/python-venv"
  # Many tests in Python wait for processes, brokers and clocks: more run at a time than cores
  export MESON_TESTTHREADS=${MESON_TESTTHREADS:-$(($(nproc) * 3 / 2))}
fi

rm -f "$dir/meson-logs/testlog.json"
export GST_REGISTRY=$dir/registry.bin  # leaves the user's own alone
status=0
bare meson test -C "$dir" --no-rebuild --print-errorlogs "${test_arguments[@]}" || status=$?
[ -e "$dir/meson-logs/testlog.json" ] || die "meson test did not run (exit status $status)"
tested=$SECONDS
echo "seconds: $configured to configure, $((built - configured)) to build," \
  "$((tested - built)) to test"
python3 "$root/tests/count.py" "$dir/meson-logs/testlog.json"
exit $status

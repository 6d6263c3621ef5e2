#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs every fuzzer, again and again with new seeds, and ends in: N passed, N failed, N skipped.
#
#   tests/fuzz/run.sh [--seconds N] [--runs N] [--seed N] [--only NAME] [BUILD_DIR]
#
#   tests/fuzz/run.sh --seconds 600 --runs 100 build-sanitize      for hours
#   tests/fuzz/run.sh --only frames --seed 5 --seconds 600         once more what has failed
#
# --seconds is for each run (10, or INTHIST_FUZZ_SECONDS). With --seed there is one run. BUILD_DIR
# is build/ by default; its tests/fuzz/runs/ keeps the logs, and the inputs that libFuzzer found.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

seconds=${INTHIST_FUZZ_SECONDS:-10} runs=1 seed='' only='' build=$root/build
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    --runs) runs=${2:?--runs needs a number}; shift 2 ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    --only) only=${2:?--only needs a name}; shift 2 ;;
    -h | --help) sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "there is no option $1; see --help" ;;
    *) build=$(realpath -m "$1"); shift ;;
  esac
done
programs=$build/tests/fuzz
kept=$programs/runs
[ -d "$programs" ] || die "$build has no fuzzers: build it first"
mkdir -p "$kept"

export GST_PLUGIN_PATH=$build/gst/elements
export GST_REGISTRY=$programs/registry-$$.bin
trap 'rm -f "$GST_REGISTRY"' EXIT
# An ordinary process cannot load an instrumented plugin. So one scans the system's plugins, and the
# fuzzers themselves scan this build's.
env -u GST_PLUGIN_PATH gst-inspect-1.0 fakesink >/dev/null || true
export GST_REGISTRY_FORK=no
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
lsan_options=suppressions=$root/tests/sanitizers/lsan.supp:print_suppressions=0
export LSAN_OPTIONS=${LSAN_OPTIONS:-$lsan_options}

# run NAME SEED LOG: one run of a fuzzer; libFuzzer's own have a corpus
run() {
  local name=$1 seed=$2 corpus=$root/tests/fuzz/corpus/$1
  if [ -d "$corpus" ]; then
    mkdir -p "$kept/$name-found"
    (cd "$kept" && exec "$programs/$name" -seed="$seed" -max_total_time="$seconds" -max_len=1000 \
      -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$kept/$name-" \
      "$kept/$name-found" "$corpus")
  else
    "$programs/$name" --seed "$seed" --seconds "$seconds"
  fi
}

passed=0 failed=0 skipped=0 table=()
[ -z "$seed" ] || runs=1
for ((i = 1; i <= runs; i++)); do
  for name in texts questions frames storm; do
    [ -z "$only" ] || [ "$only" = "$name" ] || continue
    if [ ! -x "$programs/$name" ]; then
      echo "SKIP: $name: not built"
      skipped=$((skipped + 1))
      continue
    fi
    this=${seed:-$((RANDOM * 32768 + RANDOM))} start=$SECONDS status=0
    log=$kept/$name-$this.log
    printf '%s: run %d, seed %s\n' "$name" "$i" "$this"
    run "$name" "$this" >"$log" 2>&1 || status=$?
    result=passed
    if [ $status -eq 0 ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      result="FAILED ($status): $log"
      tail -n 60 "$log"
    fi
    tail -n 1 "$log"
    table+=("$(printf '%-10s seed %-11s %5d s  %s' "$name" "$this" $((SECONDS - start)) "$result")")
  done
done

printf '%s\n' "${table[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]

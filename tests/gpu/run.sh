#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs everything that needs an NVIDIA GPU, on a machine that has one:
#
#   tests/gpu/run.sh [--logs DIR] [--parts REGEX] [--jobs N] [BUILD_DIR]
#
#   inthist-check       each strategy, also with a tensor of more than 2^32 bytes
#   compute-sanitizer   over the small cases of inthist-check and over several checks
#   gst-check           the tests of each file of tests/kernels, tests/library and tests/elements
#   times               of all strategies at 640x480, 1280x720 and 1920x1080, of whole pipelines,
#                       of questions, and of frames over all devices
#
# It builds nothing and needs no Meson. BUILD_DIR is "build" by default; REGEX, which selects parts
# by name, matches all of them. N parts that verify run at a time (1); those that time, or have
# times to keep, run alone after them. Each part's output goes to DIR/<part>.log. The table at the
# end has a line for each part, and for each thing that a part had to skip. A run that is ended
# before prints the table of what has ended. No part may take longer than SECONDS_A_PART (900 by
# default).
set -u

logs=
parts='.*'
build=build
at_once=1
while [ $# -gt 0 ]; do
  case $1 in
    --logs) logs=${2:?--logs DIR}; shift 2 ;;
    --jobs) at_once=${2:?--jobs N}; shift 2 ;;
    --parts) parts=${2:?--parts REGEX}; shift 2 ;;
    -h | --help) sed -n '4,20s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "run.sh: no option $1" >&2; exit 2 ;;
    *) build=$1; shift ;;
  esac
done
if [ ! -x "$build/tests/inthist-check/inthist-check" ] ||
  [ ! -x "$build/tests/kernels-tests" ]; then
  echo "run.sh: no checks in $build: build it first, with tests" >&2
  exit 2
fi
if grep -qs '"name": "cuda-args", "value": \["' "$build/meson-info/intro-buildoptions.json"; then
  echo "run.sh: $build has cuda-args, which may make kernels slow: build without them" >&2
  exit 2
fi
build=$(cd "$build" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ -n "$logs" ] || logs=$(mktemp -d -t gpu-logs.XXXXXX)
mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
cd "$root" || exit 2

export GST_PLUGIN_PATH=$build/gst/elements
export GST_REGISTRY=$scratch/registry.bin
export LD_LIBRARY_PATH=$build/gst/integralhist${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export INTHIST_NVMOT=$build/gst/nvmot/libintegralhist_nvmot.so
export CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-300}

# the program that has the tests of each file
declare -A program_of
for program in "$build"/tests/*-tests; do
  files=$("$program" --list) || { echo "run.sh: $program does not start" >&2; exit 2; }
  for file in $files; do program_of[$file]=$program; done
done

passed=0 failed=0 skipped=0
started=()

# run NAME COMMAND...: leaves the exit status and the seconds in $scratch/NAME.ended, and while it
# runs its process in $scratch/NAME.pid: who ends this script may end this very shell first
run () {
  local name=$1 start=$SECONDS status log=$logs/$1.log
  shift
  echo "== $name: $*"
  timeout -k 10 "${SECONDS_A_PART:-900}" "$@" >"$log" 2>&1 </dev/null &
  echo $! >"$scratch/$name.pid"
  wait $!
  status=$?
  rm "$scratch/$name.pid"
  echo "$status $((SECONDS - start))" >"$scratch/$name.ended"
  if [ $status -ne 0 ] && [ $status -ne 77 ]; then
    printf -- '-- %s: exit status %d; the end of %s:\n%s\n' "$name" $status "$log" \
      "$(tail -n 40 "$log")"
  fi
}

# part NAME COMMAND...: verifies, at the same time as others
part () {
  [[ $1 =~ ^($parts)$ ]] || return 0
  while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
  started+=("$1")
  run "$@" &
}

# timed_part NAME COMMAND...: runs by itself, as it times, or has times to keep
timed_part () {
  [[ $1 =~ ^($parts)$ ]] || return 0
  wait
  started+=("$1")
  run "$@" &
  wait  # which a signal ends at once
}

line () { printf '%-64s %-5s %8s\n' "$1" "$2" "$3"; }

show_table () {
  local name status seconds result left
  echo
  echo "logs: $logs"
  line part result seconds
  for name in "${started[@]}"; do
    status=- seconds=-
    [ ! -e "$scratch/$name.ended" ] || read -r status seconds <"$scratch/$name.ended"
    case $status in
      0) result=pass passed=$((passed + 1)) ;;
      77) result=SKIP skipped=$((skipped + 1)) ;;
      *) result=FAIL failed=$((failed + 1)) ;;  # also one that has not ended
    esac
    line "$name" $result "$seconds"
    # each skipped thing of the part has a line of its own
    while read -r left; do
      left=${left#SKIP: }
      line "  ${left:0:60}" SKIP -
      skipped=$((skipped + 1))
    done < <(grep '^SKIP: ' "$logs/$name.log" | sort -u)
  done
  echo "$passed passed, $failed failed, $skipped skipped"
}

# kill_tree PID: ends a process that this script started, and its children
kill_tree () {
  local child
  for child in $(ps -o pid= --ppid "$1"); do kill_tree "$child"; done
  kill "$1" 2>/dev/null
}

stop () {
  local pid
  trap '' TERM INT
  show_table
  while read -r pid; do kill_tree "$pid"; done < <(cat "$scratch"/*.pid 2>/dev/null)
  exit 143
}
trap stop TERM INT

check=$build/tests/inthist-check/inthist-check
if "$check" strip --device cuda --size 8x8 2>/dev/null |
  grep '^SKIP: strategies on CUDA' >"$scratch/no-device"; then
  echo "run.sh: no usable CUDA device: $(cat "$scratch/no-device")" >&2
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
fi
for strategy in $("$check" --list --device cuda | awk '/^$/ { exit } $2 == "CUDA" { print $1 }')
do
  part "inthist-check-$strategy" "$check" "$strategy" --device cuda
done

# A tensor of 4.6 GB needs offsets of 64 bits. This takes some 10 GiB of the host, and on the GPU
# the tensor and the strategy's workspace; what does not fit is skipped.
part large "$check" --device cuda --size 8192x8192 --bins 17

# count cuts tall strips into cells; strips are that tall only with many bins or a large frame
part cells-u16 "$check" strip --size 1030x1088 --bins 256 --counter u16

# with so many strips and segments, one block of count carries on the counts of several strips
part parts "$check" strip --size 14336x2200 --bins 2
part parts-lut "$check" strip --size 14336x2200 --bins 3

# a table of 8-bit pixels has the large tiles of look-back only if there are many of them
part tables "$check" look-back --size 4101x3400 --table u8:u32 --bins 1 --bins 2
part tables-large "$check" look-back --size 36001x30000 --table u8:u32
part tables-f32 "$check" look-back --size 4101x3400 --table u8:f32

sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
for tool in memcheck racecheck initcheck synccheck; do
  if [ -x "$sanitizer" ]; then
    part "inthist-check-$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 \
      "$check" --cases small --device cuda
    for test in bin_image bin_features add_above region cells answer answer_weights look_back; do
      # a sanitizer runs one kernel after the other, and look_back's other case wants two at once
      only=$([ $test != look_back ] || echo GST_CHECKS_IGNORE=one_processor)
      # shellcheck disable=SC2086  # nothing where it is empty
      part "$test-$tool" env $only INTHIST_CASES=small CK_FORK=no CK_TIMEOUT_MULTIPLIER=4 \
        "$sanitizer" --tool "$tool" --error-exitcode 1 "${program_of[$test]}" "$test"
    done
    part "canvas-$tool" env CK_FORK=no CK_TIMEOUT_MULTIPLIER=4 \
      "$sanitizer" --tool "$tool" --error-exitcode 1 "${program_of[canvas]}" canvas
    # racecheck is slow: it looks at the filters' kernels, and above at those that add up cells
    only=$([ $tool != racecheck ] || echo --kernel-name kernel_substring=correlation)
    # shellcheck disable=SC2086  # nothing where it is empty
    part "track_correlation-$tool" env GST_CHECKS=filters_on_a_gpu INTHIST_CASES=small \
      CK_FORK=no CK_TIMEOUT_MULTIPLIER=10 \
      "$sanitizer" --tool "$tool" $only --error-exitcode 1 "${program_of[track_correlation]}" \
      track_correlation
    if [ "$tool" = memcheck ]; then
      part histogram-memcheck env CK_FORK=no CK_TIMEOUT_MULTIPLIER=10 \
        "$sanitizer" --tool memcheck --leak-check full --error-exitcode 1 \
        "${program_of[histogram]}" histogram
      # one of its tests needs more memory than exists, which is not an error here
      for test in query_answers query_refusals query_streams; do
        part "$test-memcheck" env CK_FORK=no CK_TIMEOUT_MULTIPLIER=10 \
          "$sanitizer" --tool memcheck --report-api-errors no --error-exitcode 1 \
          "${program_of[$test]}" "$test"
      done
      for test in several_devices device_errors; do
        part "$test-memcheck" env CK_FORK=no CK_TIMEOUT_MULTIPLIER=10 INTHIST_CASES=small \
          "$sanitizer" --tool memcheck --report-api-errors no --leak-check full \
          --error-exitcode 1 "${program_of[$test]}" "$test"
      done
      for test in track cuda_drawing bin_ranges bin_range_messages; do
        part "$test-memcheck" env CK_FORK=no CK_TIMEOUT_MULTIPLIER=10 \
          "$sanitizer" --tool memcheck --error-exitcode 1 "${program_of[$test]}" "$test"
      done
    fi
  else
    part "$tool" sh -c "echo 'SKIP: $tool: no compute-sanitizer on this machine'; exit 77"
  fi
done

# raii counts the free memory of the GPU, and look_back holds all processors but one: they run alone
# as well
timed='raii|look_back|stream|stopping|load_shedding|hot_path|in_flight|sharded_engine|tuner'
timed+='|tuning'
for kind in part timed_part; do
  for test in $(printf '%s\n' "${!program_of[@]}" | sort); do
    if [ $kind = "$([[ $test =~ ^($timed)$ ]] && echo timed_part || echo part)" ]; then
      $kind "$test" "${program_of[$test]}" "$test"
    fi
  done
done

# PyTorch and CuPy may be in another Python than the bindings
part dlpack-python "${PYTHON:-python3}" "$root/tests/gpu/dlpack.py" "$build"

# 100,000 frames of histograms, and as many of tables
timed_part stress env GST_CHECKS=stress INTHIST_STRESS_FRAMES=50000 "${program_of[stream]}" stream

timed_part bench "$check" --bench --device cuda
timed_part bench-tables "$check" look-back scanrow-scancolumn --bench --peers --device cuda \
  --table u8:u32 --size 640x480 --size 1920x1080 --size 4096x4096 --size 8192x8192 --seconds 0.2
timed_part bench-transfers "$check" strip wf-tis --bench --transfers --device cuda --size 1280x720 \
  --seconds 0.5
timed_part strip-policies "$build/tests/benchmarks/strip_policies"
timed_part pipelines "$build/tests/benchmarks/pipelines" --seconds 0.3
timed_part pipelines-many "$build/tests/benchmarks/pipelines" --seconds 0.3 --size 640x480 \
  --depth 3 --many
timed_part pipelines-table "$build/tests/benchmarks/pipelines" --table --seconds 0.3 \
  --size 640x480 --size 1920x1080 --depth 3 --depth 8
# the tracking of Adam et al.: 40 patches, 15x15 positions, 16 bins
timed_part pipelines-track "$build/tests/benchmarks/pipelines" --seconds 0.3 --size 352x288 \
  --depth 3 --bins 16 --track 150,100,40,80
# a tracker of a large frame that lies on the GPU, at once and on demand
for compute in eager on-demand auto; do
  timed_part "pipelines-$compute" "$build/tests/benchmarks/pipelines" --seconds 0.3 --memory cuda \
    --size 640x480 --size 3840x2160 --depth 3 --bins 16 --track 150,100,80,160 --compute $compute
done
# up to a thousand targets, of a video if there is one
video=${INTHIST_TEST_DATA:-}/woman.mp4
[ -e "$video" ] || video=
timed_part targets-one "$build/tests/benchmarks/targets" ${video:+--file "$video"} --backend cuda \
  --size 352x288 --targets 1 --frames 150 --queue
timed_part targets "$build/tests/benchmarks/targets" ${video:+--file "$video"} --backend cuda \
  --targets 100 --targets 1000 --queue
timed_part features-bench "$build/tests/benchmarks/features" --device cuda --in-flight 3
timed_part queries-bench "$build/tests/benchmarks/queries" --device cuda
# large frames over all devices, downloaded and not, and in rounds (Poostchi et al., section 4.6)
timed_part devices "$build/tests/benchmarks/devices" --seconds 0.3 --csv "$logs/devices.csv"
wait
for name in bench bench-tables bench-transfers strip-policies pipelines pipelines-many \
  pipelines-table pipelines-track pipelines-eager pipelines-on-demand pipelines-auto \
  targets-one targets features-bench queries-bench devices; do
  if [[ $name =~ ^($parts)$ ]]; then
    cat "$logs/$name.log"
  fi
done

show_table
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]

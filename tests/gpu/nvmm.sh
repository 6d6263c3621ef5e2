#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs the tests with memory:NVMM behind NVIDIA's decoder and converter, on a machine with a GPU:
#
#   tests/gpu/nvmm.sh LIBS [BUILD_DIR]
#
# LIBS is the folder _libs of the Python wheel nvidia-deepstream-videodecode-cu13, unpacked; that
# needs NPP and the run-time library of CUDA 13, and libv4lconvert.so.0 (Debian: libv4lconvert0). It
# prints integers, tracks, copies and frames a second (tests/elements/nvmm_decoder.cpp), calls the
# library for nvtracker with surfaces of NVIDIA's, and fails if a test does. INTHIST_TEST_DATA is a
# folder with woman.mp4. With SANITIZE=1 compute-sanitizer looks at the first frames of the tests of
# integers, tracks and maps.
set -eu

if [ $# -lt 1 ] || [ ! -e "$1/libgstnvvideo4linux2.so" ]; then
  sed -n '4,14s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
libs=$(cd "$1" && pwd)
build=$(cd "${2:-build}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# folder_of FILE: where CUDA's libraries may be
folder_of () {
  find "${CUDA_HOME:-/usr/local/cuda}"/ /usr/local/cuda*/ /usr/lib/x86_64-linux-gnu /opt \
    -name "$1" -print -quit 2>/dev/null | xargs -r dirname
}
export LD_LIBRARY_PATH=$libs:$build/gst/integralhist:${LD_LIBRARY_PATH:-}
for library in libnppig.so.13 libcudart.so.13 libcupti.so.13; do
  LD_LIBRARY_PATH+=:$(folder_of $library)
done
export LIBV4L2_PLUGIN_DIR=$libs/v4l_plugins GST_PLUGIN_PATH=$libs:$build/gst/elements
export GST_REGISTRY=$scratch/registry.bin
for library in "$libs"/libgstnv*.so "$libs"/v4l_plugins/*.so; do
  if ldd "$library" | grep 'not found'; then
    echo "nvmm.sh: $library does not load" >&2
    exit 1
  fi
done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
"$build/tests/elements-tests" nvmm_decoder
INTHIST_NVMOT=$build/gst/nvmot/libintegralhist_nvmot.so GST_CHECKS=gpu,surfaces_of_nvidia \
  "$build/tests/nvmot-threads-tests" nvmot_tracks
if [ "${SANITIZE:-0}" = 1 ]; then
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  INTHIST_CASES=small CK_FORK=no GST_CHECKS=integers,tracks_and_drawings,likelihood \
    "$sanitizer" --tool memcheck --error-exitcode 1 "$build/tests/elements-tests" nvmm_decoder
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs packages, configures and builds, for examples/demo.sh and tests/run.sh, which source it.
# By itself:
#
#   tools/setup.sh run|test     installs what is missing to build and run, or to test as well
#
# Knows Debian 12 and 13 and Ubuntu 24.04. Packages that are already installed do not change.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

run_packages=(g++ meson ninja-build pkgconf libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  libhwy-dev libtbb-dev libexpected-dev libcairo2-dev fonts-dejavu-core gstreamer1.0-tools
  python3-gi gir1.2-gst-plugins-base-1.0 gobject-introspection libgirepository1.0-dev
  gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-libav)
# windows of X, and of Wayland through Xwayland
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then run_packages+=(gstreamer1.0-x); fi
# libgstreamer-plugins-bad1.0-dev has GstAnalytics, from GStreamer 1.24 on
test_packages=(python3-gst-1.0 python3-numpy python3-paho-mqtt python3-pip python3-venv clang-format
  clang libclang-rt-dev git gi-docgen libgstreamer-plugins-bad1.0-dev gstreamer1.0-gl libegl1
  libgl1-mesa-dri)
# CUDA memory in buffers is only built together with CUDA, and its headers are large
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  run_packages+=(libgstreamer-plugins-bad1.0-dev)
elif [ -e /proc/driver/nvidia/version ]; then
  echo "There is an NVIDIA driver but no nvcc: the build is for the CPU. For the GPU, install the" \
    "CUDA toolkit and remove build/." >&2
fi

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# install_packages run|test
install_packages() {
  local wanted=() missing=() installed package line as_root=()
  case ${1:-} in
    run) wanted=("${run_packages[@]}") ;;
    test) wanted=("${run_packages[@]}" "${test_packages[@]}") ;;
    *) die "install_packages: run or test, not '${1:-}'" ;;
  esac
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this is no Debian or Ubuntu. Install the counterparts of: ${wanted[*]}
and then: meson setup build -Dtests=enabled && meson compile -C build && meson test -C build"
  fi

  # dpkg-query fails for a package that it does not know, and that is not an error here
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null ||
    true)
  for package in "${wanted[@]}"; do
    grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  echo "Missing packages: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    # sudo may ask for a password only if there is a terminal to type it
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
      as_root=(sudo)
    else
      die "these packages need root, and sudo does not work here." \
        "Run this as root, then start ${0##*/} again:
$line"
    fi
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  "${as_root[@]}" update || die "apt-get update failed; its messages are above"
  "${as_root[@]}" install -y --no-install-recommends "${missing[@]}" ||
    die "packages could not be installed; the messages of apt-get are above. The command was:
$line"
}

# configure BUILD_DIR [MESON_OPTION...]: options given for a configured directory change it
configure() {
  local dir=$1
  shift
  if [ ! -e "$dir/build.ninja" ]; then
    meson setup "$@" "$dir" "$root" || die "meson setup failed"
  elif ! grep -qF "\"source\": \"$root\"" "$dir/meson-info/meson-info.json"; then
    echo "$dir belongs to a checkout in another place: it is configured anew"
    meson setup --wipe "$@" "$dir" "$root" || die "meson setup failed; remove $dir and try again"
  elif [ $# -gt 0 ]; then
    # if an option is newer than the build directory, only meson setup knows it
    meson configure "$@" "$dir" >/dev/null 2>&1 || meson setup --reconfigure "$@" "$dir" "$root" ||
      die "meson setup failed"
  fi
}

# build BUILD_DIR [TARGET...]
build() {
  local dir=$1
  shift
  meson compile -C "$dir" "$@" || die "the build failed"
}

# bare COMMAND...: runs a command without the caller's environment, except the names below. So the
# tests do not depend on the variables of a machine.
bare() {
  local name kept=()
  while IFS= read -r name; do
    case $name in
      PATH | HOME | LANG | TMPDIR | DISPLAY | WAYLAND_DISPLAY | XAUTHORITY | XDG_RUNTIME_DIR) ;;
      INTHIST_* | INTEGRALHIST_* | RESULTS_* | ARCHIVE_* | CK_* | CCACHE_* | CUDA_* | NVIDIA_*) ;;
      GST_REGISTRY* | ?SAN_OPTIONS | UBSAN_OPTIONS | G_SLICE | MESON_TESTTHREADS) ;;
      *) continue ;;
    esac
    kept+=("$name=${!name}")
  done < <(compgen -e)
  env -i "${kept[@]}" "$@"
}

# python_venv FOLDER: makes a virtual environment with PyPI's packages of venv_packages, once;
# docs/testing.md has the size. If it fails, it says so, and tests that need it are skipped.
venv_packages=(numpy opencv-contrib-python-headless matplotlib scikit-image mypy pyarrow nats-py
  pandas tqdm)
# Ray has no wheel for the newest versions of Python. With these, the tests of Ray are skipped.
venv_extras=(ray)
python_venv() {
  local folder=$1 stamp=$1/packages
  [ "$(cat "$stamp" 2>/dev/null)" != "${venv_packages[*]} ${venv_extras[*]}" ] || return 0
  rm -rf "$folder"
  echo "Installing PyPI's ${venv_packages[*]} in $folder"
  # the distribution's packages are visible too, but do not count as the packages of PyPI
  if /usr/bin/python3 -m venv --system-site-packages "$folder" &&
    "$folder/bin/python" -m pip install -q --disable-pip-version-check --no-input --retries 1 \
      --timeout 30 --only-binary :all: --ignore-installed "${venv_packages[@]}"; then
    "$folder/bin/python" -m pip install -q --disable-pip-version-check --no-input --retries 1 \
      --timeout 30 --only-binary :all: "${venv_extras[@]}" ||
      echo "SKIP: no ${venv_extras[*]} in the Python environment: the reason is above" >&2
    echo "${venv_packages[*]} ${venv_extras[*]}" >"$stamp"
  else
    rm -rf "$folder"
    echo "SKIP: no Python environment with ${venv_packages[*]}: the reason is above" >&2
  fi
}

# Called by itself, not sourced
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  case ${1:-} in run | test) ;; *) sed -n '4,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
  install_packages "$1"
  echo "All packages are there."
fi

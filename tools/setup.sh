#!/bin/bash
# Prepares a Debian or Ubuntu machine: installs the system packages that are
# missing, fetches the source of curl, and makes a virtual environment from
# requirements/, in which this checkout is installed.
#
# usage: tools/setup.sh [VENV REQUIREMENTS...]
#
# Without arguments it prepares the machine alone.
# PYTHON chooses the interpreter, BAZEL a Bazel other than the system's.
set -euo pipefail

readonly venv="${1:-}"

say() { echo "setup: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

has_header() {
  local dir
  for dir in /usr/include "/usr/include/$(uname -m)-linux-gnu" /usr/local/include; do
    [[ -e "${dir}/$1" ]] && return 0
  done
  return 1
}

# TensorFlow 2.16 and the pinned packages meet in these versions of Python.
usable_python() {
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' \
    2>/dev/null
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.12 python3.11}; do
    if usable_python "${candidate}"; then
      echo "${candidate}"
      return
    fi
  done
}

# Before minutes of installing, and after, since that may bring one.
check_python() {
  local name="${PYTHON:-python3}"
  if command -v "${name}" >/dev/null && [[ -z "$(find_python)" ]]; then
    fail "${name} is $("${name}" --version 2>&1), and the pinned TensorFlow needs" \
      "Python 3.11 or 3.12: install one, and set PYTHON to it, as in" \
      "PYTHON=/usr/local/bin/python3.12 make setup"
  fi
}

missing_packages() {
  local name package
  while read -r name package; do
    command -v "${name}" >/dev/null || echo "${package}"
  done <<EOF
g++ g++
${BAZEL:-bazel} bazel-bootstrap
clang-format-16 clang-format-16
dpkg-source dpkg-dev
openssl openssl
patch patch
python3 python3
EOF
  while read -r name package; do
    has_header "${name}" || echo "${package}"
  done <<EOF
benchmark/benchmark.h libbenchmark-dev
gmock/gmock.h libgmock-dev
gtest/gtest.h libgtest-dev
jpeglib.h libjpeg-dev
libdeflate.h libdeflate-dev
liburing.h liburing-dev
openssl/ssl.h libssl-dev
protozero/pbf_reader.hpp libprotozero-dev
webp/decode.h libwebp-dev
xxhash.h libxxhash-dev
EOF
  local python
  python="$(find_python)"
  if ! "${python:-python3}" -c 'import ensurepip' 2>/dev/null; then
    echo python3-venv
  fi
}

install_packages() {
  local -a missing as_root=()
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then return; fi
  say "missing system packages: ${missing[*]}"
  command -v apt-get >/dev/null ||
    fail "there is no apt-get here; install what these packages hold by hand"
  local -r by_hand="as root, run: apt-get install ${missing[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "you are not root, and there is no sudo; ${by_hand}"
    as_root=(sudo)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  {
    "${as_root[@]}" apt-get update -q &&
      "${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
  } >&2 || fail "they were not installed; ${by_hand}"
}

make_venv() {
  check_python
  local python
  python="$(find_python)"
  [[ -n "${python}" ]] || fail "there is no ${PYTHON:-python3}: set PYTHON to a Python"
  say "making ${venv} with $("${python}" --version)"
  "${python}" -m venv "${venv}"
  local -a files=()
  local file
  for file in "${@:2}"; do files+=(-r "${file}"); done
  local -a install=("${venv}/bin/python" -m pip install --disable-pip-version-check)
  install+=(--quiet)
  "${install[@]}" "${files[@]}"
  # It writes into the checkout, which another environment may be made of at once.
  local -r checkout="$(dirname "$0")/.."
  flock "${checkout}" "${install[@]}" --no-index --no-deps --no-build-isolation \
    --editable "${checkout}"
}

check_python
install_packages
"$(dirname "$0")/fetch_curl.sh" "${XDG_CACHE_HOME:-${HOME}/.cache}/liquid_tf/curl"
if (($# > 0)); then make_venv "$@"; fi

#!/bin/bash
# Makes the least Debian of AArch64 that runs the engine in an emulator, and a
# compiler that builds the engine for it. Nothing of this machine changes: no
# architecture is added to its packages, and root is not needed.
#
# usage: tools/aarch64_root.sh FOLDER
#
#   FOLDER/root            Python, with what liquid_tf needs beside it:
#                          qemu-aarch64 -L FOLDER/root FOLDER/root/usr/bin/python3
#   FOLDER/toolchain/gcc   CC for Bazel
#
# PYTHON is a Python whose pip fetches packages. Packages come from where the
# machine's own come from. On Debian: g++-aarch64-linux-gnu, qemu-user.
set -euo pipefail

readonly made="${1:?usage: tools/aarch64_root.sh FOLDER}"
readonly python="${PYTHON:-python3}"
readonly libraries=(libdeflate-dev libjpeg62-turbo-dev libssl-dev liburing-dev
  libwebp-dev)
checkout="$(cd "$(dirname "$0")/.." && pwd)"
readonly checkout

[[ -e "${made}/.made" ]] && exit
for command in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "${command}" >/dev/null || {
    echo "there is no ${command}: apt-get install g++-aarch64-linux-gnu qemu-user" >&2
    exit 1
  }
done

rm -rf "${made}"
mkdir -p "${made}/root" "${made}/toolchain"
folder="$(cd "${made}" && pwd)"
readonly folder
readonly debs="${folder}/apt/cache/archives"
mkdir -p "${folder}/apt/lists/partial" "${debs}/partial"
# As if nothing were installed, so that all that is needed is fetched.
touch "${folder}/apt/status"

apt() {
  apt-get -q -o APT::Sandbox::User=root \
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
    -o "Dir::State=${folder}/apt" -o "Dir::State::Lists=${folder}/apt/lists" \
    -o "Dir::State::status=${folder}/apt/status" \
    -o "Dir::Cache=${folder}/apt/cache" "$@" >&2
}

# Others than the distribution may have nothing for this processor.
apt update || true
apt install -y --no-install-recommends --download-only python3 libstdc++6
# Without what they depend on: the compiler brings a C library of its own.
(cd "${debs}" && apt download "${libraries[@]}")
for deb in "${debs}"/*.deb; do dpkg-deb -x "${deb}" "${folder}/root"; done
rm -rf "${folder}/apt"

# What pyproject.toml asks for, in tested versions.
packages="${folder}/root/usr/lib/python3/dist-packages"
version="$(cd "${folder}/root/usr/bin" && readlink python3)"
"${python}" -m pip install --disable-pip-version-check --quiet --no-warn-conflicts \
  --target "${packages}" --only-binary=:all: --python-version "${version#python}" \
  --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
  -c "${checkout}/requirements/without_tensorflow.txt" \
  absl-py lazy-loader numpy pillow tqdm

# Of the root it takes static libraries and the headers that differ by processor;
# all other headers are those of this machine. Bazel looks for the linker beside it.
readonly triplet=aarch64-linux-gnu
archives=("${folder}/root/usr/lib/${triplet}"/*.a)
ln -s "${archives[@]}" "${folder}/toolchain"
cat >"${folder}/toolchain/gcc" <<END
#!/bin/bash
exec ${triplet}-gcc "\$@" -B"${folder}/toolchain" \\
  -idirafter "${folder}/root/usr/include/${triplet}"
END
chmod +x "${folder}/toolchain/gcc"
touch "${folder}/.made"

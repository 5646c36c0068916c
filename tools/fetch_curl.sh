#!/bin/bash
# Unpacks the system's source of curl, with the fixes of the distribution, as
# FOLDER. Nothing is installed.
#
# usage: tools/fetch_curl.sh FOLDER
set -euo pipefail

readonly folder="${1:?usage: tools/fetch_curl.sh FOLDER}"
[[ -e "${folder}/debian/changelog" ]] && exit

work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
mkdir -p "${work}/sources/parts" "${work}/lists/partial" "$(dirname "${folder}")"

# Where packages come from their sources come from too.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [[ -e "${file}" ]] && sed -n 's/^deb /deb-src /p' "${file}"
done >"${work}/sources/list"
for file in /etc/apt/sources.list.d/*.sources; do
  [[ -e "${file}" ]] && sed 's/^Types:.*/Types: deb-src/' "${file}" \
    >"${work}/sources/parts/${file##*/}"
done

apt() {
  apt-get -q -o APT::Sandbox::User=root \
    -o "Dir::Etc::SourceList=${work}/sources/list" \
    -o "Dir::Etc::SourceParts=${work}/sources/parts" \
    -o "Dir::State::Lists=${work}/lists" "$@" >&2
}

# Others than the distribution may have no sources.
apt update || true
cd "${work}"
apt source curl
mv "${work}"/curl-*/ "${folder}"

#!/bin/bash
#
# usage: tools/arm64/packages.sh FOLDER
#
# Brings Debian's arm64 kernel and the static libraries that wick links into FOLDER/kernel and
# FOLDER/sysroot: downloaded with lists and a cache of their own and unpacked, never installed; the
# system's packages and architectures stay as they are. What is there stays. 77: cannot be had.
set -euo pipefail
work=$1
libraries=(libelf-dev libdw-dev zlib1g-dev libzstd-dev liblzma-dev libbz2-dev libiberty-dev libc6 musl-dev)

skip() { printf 'skipped: %s\n' "$*"; exit 77; }

arm64_apt() {
	local tool=$1
	shift
	"$tool" -oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State::Lists="$work/lists" \
		-oDir::Cache="$work/cache" -oDir::State::status=/dev/null \
		-oAPT::Sandbox::User="$(id -un)" "$@"
}

# unpack FOLDER PACKAGE...: whole or not at all
unpack() {
	local to=$1 deb
	shift
	rm -rf debs "$to.new"
	mkdir -p debs "$to.new"
	(cd debs && arm64_apt apt-get -qq download "$@") >>apt.log 2>&1 || skip "$* cannot be had"
	for deb in debs/*.deb; do
		dpkg-deb -x "$deb" "$to.new"
	done
	rm -rf "$to"
	mv "$to.new" "$to"
	rm -rf debs
}

cd "$work"
if [ "$(cat sysroot/packages 2>/dev/null)" != "${libraries[*]}" ]; then
	rm -rf sysroot
fi
[ ! -d kernel/boot ] || [ ! -d sysroot ] || exit 0
mkdir -p lists/partial cache/archives/partial
arm64_apt apt-get -qq update >apt.log 2>&1 || skip "the package lists cannot be had"
if [ ! -d kernel/boot ]; then
	kernel=$(arm64_apt apt-cache search --names-only '^linux-image-6.*-cloud-arm64$' |
		awk '{ print $1 }' | sort -V | tail -1)
	[ -n "$kernel" ] || skip "Debian has no cloud kernel for arm64"
	unpack kernel "$kernel"
fi
if [ ! -d sysroot ]; then
	unpack sysroot "${libraries[@]}"
	printf '%s\n' "${libraries[*]}" >sysroot/packages
fi

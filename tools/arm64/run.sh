#!/bin/bash
#
# usage: tools/arm64/run.sh [FOLDER]      downloads and builds in FOLDER, default build-arm64
#
# The conformance suite on the real armv8_pmuv3 driver: Debian's arm64 kernel under QEMU, whose
# emulated CPU has a PMU with an overflow interrupt. The suite is built statically for aarch64 and is,
# with a small init, all that the machine has; it speaks on the serial console. Prints TAP and, as
# its last line, `armv8_pmuv3: N passed, N failed`. 77: it cannot run here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=${1:-$root/build-arm64}
cross=aarch64-linux-gnu-gcc

skip() { printf 'skipped: %s\n' "$*"; exit 77; }

for command in "$cross" qemu-system-aarch64 cpio apt-get dpkg; do
	command -v "$command" >/dev/null || skip "$command is not installed"
done
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/initramfs/proc"
cd "$work"

# Of another architecture, with lists and a cache of its own: the system's stay as they are.
arm64_apt() {
	local tool=$1
	shift
	"$tool" -oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State::Lists="$work/lists" \
		-oDir::Cache="$work/cache" -oDir::State::status=/dev/null "$@"
}

kernel() { find "$work/kernel/boot" -name 'vmlinuz-*' 2>/dev/null | head -1; }

if [ -z "$(kernel)" ]; then
	arm64_apt apt-get -qq update >apt.log 2>&1 || skip "the package lists cannot be had"
	package=$(arm64_apt apt-cache search --names-only '^linux-image-6.*-cloud-arm64$' |
		awk '{ print $1 }' | sort -V | tail -1)
	[ -n "$package" ] || skip "Debian has no cloud kernel for arm64"
	arm64_apt apt-get -qq download "$package" >>apt.log 2>&1 || skip "$package cannot be had"
	dpkg -x "$package"_*.deb kernel
fi

sources() { find "$root/src/$1" -maxdepth "$2" -name '*.c' ! -name '*_test.c'; }
mapfile -t files < <(sources base 1; sources record 1; sources softperf 2
	printf '%s\n' "$root"/src/perf/{event,ringbuf}.c "$root"/tests/conformance/*.c)
"$cross" -static -std=gnu11 -O2 -D_GNU_SOURCE -Wall -Wextra -Wno-missing-field-initializers \
	-I"$root/include" -I"$root/src" -I"$root" "${files[@]}" -o initramfs/conformance
"$cross" -static -O2 -Wall "$root/tools/arm64/init.c" -o initramfs/init
cp "$root/tests/conformance/expected.txt" initramfs/
(cd initramfs && find . | cpio --quiet -o -H newc | gzip) >initramfs.gz

# -icount: without it overflows go missing. The guest's time is its own.
timeout 150 qemu-system-aarch64 -M virt -cpu cortex-a57 -icount shift=1 -nic none -nographic \
	-m 256M -no-reboot -kernel "$(kernel)" -initrd initramfs.gz \
	-append "console=ttyAMA0 panic=-1 quiet" </dev/null >console.log 2>&1 || true
tr -d '\r' <console.log >said.log
cat said.log
passed=$(grep -c '^ok ' said.log || true)
failed=$(grep -c '^not ok ' said.log || true)
if ! grep -q '^# ended with' said.log; then
	echo "not ok - the machine came to its end"
	failed=$((failed + 1))
fi
printf 'armv8_pmuv3: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

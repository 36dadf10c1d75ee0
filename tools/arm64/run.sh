#!/bin/bash
#
# usage: tools/arm64/run.sh [--build] [FOLDER]      in FOLDER, default build-arm64
#
# --build: downloads and builds, and that is all.
#
# wick and the conformance suite on the real armv8_pmuv3 driver: Debian's arm64 kernel under QEMU,
# whose emulated CPUs have a PMU with an overflow interrupt, and the newest also pointer
# authentication. Both are built statically for aarch64; with a small init and some programs of known
# truth they are all that the machines have, one for each. They speak on the serial console; judge.py
# reads what they said.
#
#     packages.sh -> kernel/, sysroot/     meson, cross.ini -> wick/     initramfs.gz -> QEMU
#     said.* -> judge.py -> TAP
#
# The last line is `armv8_pmuv3: N passed, N failed`. 77: it cannot run here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
only_build=
if [ "${1:-}" = --build ]; then
	only_build=1
	shift
fi
work=${1:-$root/build-arm64}
cross=aarch64-linux-gnu-gcc

skip() { printf 'skipped: %s\n' "$*"; exit 77; }

for command in "$cross" qemu-system-aarch64 cpio apt-get dpkg meson ninja pkg-config python3; do
	command -v "$command" >/dev/null || skip "$command is not installed"
done
mkdir -p "$work"
cd "$work"

"$here/packages.sh" "$work" || exit $?

# ---- wick and the suite

launcher=
command -v ccache >/dev/null && launcher="'ccache'"
printf "[constants]\nsysroot = '%s'\nlauncher = [%s]\n" "$work/sysroot" "$launcher" >sysroot.ini.new
options=(--cross-file sysroot.ini --cross-file "$here/cross.ini" --prefer-static
	-Dauto_features=disabled -Dzstd=enabled -Ddwarf=enabled -Dlzma=enabled -Ddemangle=enabled
	-Ddebug=false -Doptimization=2)
if ! cmp -s sysroot.ini.new sysroot.ini || [ "$here/cross.ini" -nt wick/build.ninja ]; then
	mv sysroot.ini.new sysroot.ini
	rm -rf wick
	meson setup wick "$root" "${options[@]}" >setup.log 2>&1 || { cat setup.log; exit 1; }
fi
ninja -C wick src/cli/wick tests/conformance >build.log 2>&1 || { cat build.log; exit 1; }

[ -z "$only_build" ] || exit 0

# ---- what the machine has

rm -rf initramfs
mkdir -p initramfs/{proc,sys,tmp,lib}
cp wick/tests/conformance "$root/tests/conformance/expected.txt" "$here"/commands.* initramfs/
aarch64-linux-gnu-strip -o initramfs/wick wick/src/cli/wick
static=("$cross" -static -O2 -g -Wall -pthread -I"$root/tests/live/programs")
"${static[@]}" "$here/init.c" -o initramfs/init
"${static[@]}" "$root/tests/live/programs/shares.c" -o initramfs/shares
"${static[@]}" -mbranch-protection=standard "$here/programs/chains.c" -o initramfs/chains-signed
"$cross" -O2 -g -Wall -pthread "$here/programs/chains.c" -o initramfs/chains-dynamic
# No unwind information for its C library at all.
musl=sysroot/usr/lib/aarch64-linux-musl
"$cross" -O2 -g -Wall -nostdinc -isystem sysroot/usr/include/aarch64-linux-musl \
	-isystem "$("$cross" -print-file-name=include)" -nostdlib -static "$musl"/{crt1,crti}.o \
	"$here/programs/chains.c" "$musl/libc.a" "$("$cross" -print-libgcc-file-name)" "$musl/crtn.o" \
	-o initramfs/chains-musl
cp -L sysroot/lib/ld-linux-aarch64.so.1 sysroot/lib/aarch64-linux-gnu/libc.so.6 initramfs/lib/
(cd initramfs && find . | cpio --quiet -o -H newc | gzip -1) >initramfs.gz

# ---- the machines

kernel=$(find kernel/boot -name 'vmlinuz-*' | head -1)

# machine NAME CPU: runs commands.NAME, and leaves said.NAME. -icount: without it overflows go
# missing. The guest's time is its own, and its randomness has a seed: a busy host changes nothing.
machine() {
	timeout 240 qemu-system-aarch64 -M virt,dtb-randomness=off -cpu "$2" \
		-icount shift=1,sleep=off -rtc base=2026-01-01,clock=vm -seed 1 -nic none -nographic \
		-m 256M -no-reboot -kernel "$kernel" -initrd initramfs.gz \
		-append "console=ttyAMA0 panic=-1 quiet nokaslr cryptomgr.notests commands=/commands.$1" \
		</dev/null >"console.$1" 2>&1 || true
	tr -d '\r' <"console.$1" >"said.$1"
}

# The model is of a PMU like the Cortex-A57's; newer ones have counters of 64 bits.
machine suite cortex-a57 &
machine wick max,pauth-impdef=on
wait
exec "$here/judge.py" said.suite said.wick

/*
 * A small compiler: makes two functions that call one another, outer and inner, in memory, and
 * works in them for some time; then puts two others at the same place. They use the frame
 * pointer for something else and have large frames, so that nothing but a description of them
 * leads to their callers. x86_64 only.
 *
 *     jits SECONDS FOLDER GENERATIONS [VERSION] [plain | map | silent]
 *
 * What it made is told in FOLDER/jit-PID.dump; `plain`: without the descriptions; `map`: in
 * /tmp/perf-PID.map, which is removed at the end; `silent`: not at all.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOAD = 0, UNWINDING_INFO = 4, FRAME = 0x1010, CODE_BYTES = 4096 };

struct out {
	unsigned char bytes[8192];
	size_t len;
};

static void put(struct out *out, uint64_t value, size_t width)
{
	memcpy(out->bytes + out->len, &value, width);
	out->len += width;
}

static void put_bytes(struct out *out, const void *bytes, size_t len)
{
	memcpy(out->bytes + out->len, bytes, len);
	out->len += len;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- code */

static void prologue(struct out *code, uint32_t frame)
{
	put(code, 0x55, 1); /* push rbp */
	put(code, 0xbd, 1); /* mov ebp, 1 */
	put(code, 1, 4);
	put(code, 0xec8148, 3); /* sub rsp, frame */
	put(code, frame, 4);
}

static void epilogue(struct out *code, uint32_t frame)
{
	put(code, 0xc48148, 3); /* add rsp, frame */
	put(code, frame, 4);
	put(code, 0x5d, 1); /* pop rbp */
	put(code, 0xc3, 1); /* ret */
}

/* outer(count) calls inner(count), which counts down. Both begin at multiples of 64. */
static size_t make_code(struct out *code, uint32_t frame, size_t *ret_outer_bytes)
{
	code->len = 0;
	prologue(code, frame);
	put(code, 0xe8, 1); /* call 64 */
	put(code, 64 - (code->len + 4), 4);
	epilogue(code, frame);
	*ret_outer_bytes = code->len;
	while (code->len < 64)
		put(code, 0xcc, 1);
	prologue(code, frame);
	put(code, 0xcfff48, 3); /* dec rdi */
	put(code, 0xfb75, 2);	/* jnz to it */
	epilogue(code, frame);
	return code->len - 64;
}

/* ---- what is told */

static void begin(struct out *out, uint32_t id)
{
	out->len = 0;
	put(out, id, 4);
	put(out, 0, 4);
	put(out, now_ns(), 8);
}

static void record_end(struct out *out, int fd)
{
	uint32_t len = (uint32_t)out->len;

	memcpy(out->bytes + 4, &len, 4);
	if (write(fd, out->bytes, out->len) != (ssize_t)out->len)
		exit(3);
}

static void pad(struct out *frames, size_t entry)
{
	uint32_t len;

	while ((frames->len - entry) % 4)
		put(frames, 0, 1);
	len = (uint32_t)(frames->len - entry - 4);
	memcpy(frames->bytes + entry, &len, 4);
}

/* An .eh_frame for one function, as it would stand right behind its code. */
static void make_frames(struct out *out, size_t code_bytes, uint32_t frame)
{
	static const unsigned char cie[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16,
		1, 0x1b, 0x0c, 7, 8, 0x90, 1};
	size_t behind = (code_bytes + 7) / 8 * 8, fde;

	out->len = 0;
	put_bytes(out, cie, sizeof(cie));
	pad(out, 0);
	fde = out->len;
	put(out, 0, 4);
	put(out, fde + 4, 4);
	put(out, -(uint64_t)(behind + out->len), 4);
	put(out, code_bytes, 4);
	put(out, 0, 1);
	put_bytes(out, "\x41\x0e\x10\x86\x02\x4c\x0e", 7); /* +1: 16, rbp; +12: */
	frame += 16;
	put(out, (frame & 0x7f) | 0x80, 1);
	put(out, frame >> 7, 1);
	put(out, 0x02, 1); /* up to behind the `add` */
	put(out, code_bytes - 2 - 13, 1);
	put_bytes(out, "\x0e\x10\x41\x0e\x08", 5); /* 16; +1: 8 */
	pad(out, fde);
}

static void tell(int fd, const unsigned char *at, size_t bytes, const char *name,
	uint64_t index, uint32_t frame, int plain)
{
	static struct out out, frames;

	if (!plain) {
		make_frames(&frames, bytes, frame);
		begin(&out, UNWINDING_INFO);
		put(&out, 8 + frames.len, 8);
		put(&out, 8, 8);
		put(&out, 0, 8);
		put_bytes(&out, frames.bytes, frames.len);
		put(&out, 0xffff1b01, 4); /* the header, behind */
		put(&out, -(uint64_t)(frames.len + 4), 4);
		record_end(&out, fd);
	}
	begin(&out, LOAD);
	put(&out, (uint64_t)getpid(), 4);
	put(&out, (uint64_t)getpid(), 4);
	put(&out, (uint64_t)(uintptr_t)at, 8);
	put(&out, (uint64_t)(uintptr_t)at, 8);
	put(&out, bytes, 8);
	put(&out, index, 8);
	put_bytes(&out, name, strlen(name) + 1);
	put_bytes(&out, at, bytes);
	record_end(&out, fd);
}

static int dump_open(const char *folder, uint32_t version)
{
	static struct out out;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	if (fd < 0)
		exit(3);
	put(&out, 0x4A695444, 4);
	put(&out, version, 4);
	put(&out, 40, 4);
	put(&out, 62, 8);
	put(&out, (uint64_t)getpid(), 4);
	put(&out, now_ns(), 8);
	put(&out, 0, 8);
	if (write(fd, out.bytes, out.len) != (ssize_t)out.len ||
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(3);
	return fd;
}

/* What earlier calls left on the stack is no way out. */
__attribute__((noinline)) static void clear_stack(void)
{
	volatile unsigned char old[4 * FRAME];

	for (size_t i = 0; i < sizeof(old); i++)
		old[i] = 0;
}

static void tell_in_map(
	const char *path, const unsigned char *at, size_t bytes, const char *name)
{
	FILE *map = fopen(path, "a");

	if (!map)
		exit(3);
	fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)at, bytes, name);
	fclose(map);
}

__attribute__((noinline)) static void run(void (*outer)(uint64_t), double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < end) {
		clear_stack();
		outer(1000000);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int generations = argc > 3 ? atoi(argv[3]) : 1;
	const char *how = argc > 5 ? argv[5] : "";
	int plain = !strcmp(how, "plain"), map = !strcmp(how, "map");
	int dump = plain || !*how;
	int fd = dump ? dump_open(argc > 2 ? argv[2] : ".",
				argc > 4 ? (uint32_t)atoi(argv[4]) : 1)
		      : -1;
	char map_path[64];
	unsigned char *at = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct out code;

	if (at == MAP_FAILED)
		return 3;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	for (int i = 0; i < generations; i++) {
		uint32_t frame = FRAME + 0x40 * (uint32_t)i;
		size_t outer_bytes, inner_bytes = make_code(&code, frame, &outer_bytes);
		char name[32];
		void (*outer)(uint64_t);

		memcpy(at, code.bytes, code.len);
		snprintf(name, sizeof(name), "outer_%d", i);
		if (dump)
			tell(fd, at, outer_bytes, name, 2 * (uint64_t)i, frame, plain);
		if (map)
			tell_in_map(map_path, at, outer_bytes, name);
		snprintf(name, sizeof(name), "inner_%d", i);
		if (dump)
			tell(fd, at + 64, inner_bytes, name, 2 * (uint64_t)i + 1, frame, plain);
		if (map)
			tell_in_map(map_path, at + 64, inner_bytes, name);
		memcpy(&outer, &at, sizeof(outer));
		run(outer, seconds / generations);
	}
	if (map)
		unlink(map_path);
	return 0;
}

/*
 * How: the ELF header is read first (64 bytes at most), then the table of segments, then the
 * table of sections and their names, each as one checked piece. Notes are read last, for the
 * build id.
 *
 *     Ehdr  phoff,phnum --> [Phdr ...]   PT_LOAD kept, PT_NOTE read
 *           shoff,shnum --> [Shdr ...]   names from section shstrndx
 *
 * More than 0xfffe segments or 0xfeff sections: the real number stands in section 0 (sh_info,
 * sh_size, and sh_link for shstrndx). The format is the System V gABI, chapters 4 and 5.
 */
#include "object/elf.h"

#include "config.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#if HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

enum {
	NAMES_MAX = 64 << 20, /* bytes of section names */
	NOTES_MAX = 1 << 20,  /* bytes of notes looked at for a build id */
	EHDR_BYTES = 64,      /* the larger of both classes */
};

struct header {
	uint64_t phoff, shoff;
	uint64_t phnum, shnum, shstrndx;
	uint16_t phentsize, shentsize;
};

static int read_at(int fd, uint8_t *out, size_t len, uint64_t foff)
{
	while (len) {
		ssize_t got = pread(fd, out, len, (off_t)foff);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -ENODATA;
		out += got;
		foff += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

int elf_copy(const struct elf *elf, uint64_t foff, void *ret_bytes, size_t len)
{
	if (foff > elf->file_bytes || len > elf->file_bytes - foff)
		return -ENODATA;
	if (!elf->image)
		return read_at(elf->fd, ret_bytes, len, foff);
	if (len)
		memcpy(ret_bytes, elf->image + foff, len);
	return 0;
}

int elf_load(const struct elf *elf, uint64_t foff, uint64_t len, uint64_t limit,
	struct elf_blob *ret_blob)
{
	cleanup_free uint8_t *copy = NULL;
	int r;

	if (foff > elf->file_bytes || len > elf->file_bytes - foff)
		return -ENODATA;
	if (len > limit || len > SIZE_MAX / 2)
		return -EFBIG;
	if (elf->image) {
		*ret_blob = (struct elf_blob){elf->image + foff, (size_t)len, NULL};
		return 0;
	}
	copy = malloc(len ? (size_t)len : 1);
	if (!copy)
		return -ENOMEM;
	r = read_at(elf->fd, copy, (size_t)len, foff);
	if (r < 0)
		return r;
	ret_blob->bytes = copy;
	ret_blob->len = (size_t)len;
	ret_blob->owned = take_ptr(&copy);
	return 0;
}

void elf_blob_done(struct elf_blob *blob)
{
	free(blob->owned);
	*blob = (struct elf_blob){0};
}

static int inflate_zlib(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)in, .next_out = out};
	int r;

	if (in_len > UINT32_MAX || out_len > UINT32_MAX)
		return -EFBIG;
	stream.avail_in = (uInt)in_len;
	stream.avail_out = (uInt)out_len;
	if (inflateInit(&stream) != Z_OK)
		return -ENOMEM;
	r = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	return r == Z_STREAM_END && stream.total_out == out_len ? 0 : -EBADMSG;
}

static int inflate_zstd(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
#if HAVE_ZSTD
	size_t got = ZSTD_decompress(out, out_len, in, in_len);

	if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	return !ZSTD_isError(got) && got == out_len ? 0 : -EBADMSG;
#else
	(void)in, (void)in_len, (void)out, (void)out_len;
	return -EOPNOTSUPP;
#endif
}

/* An Elf_Chdr stands before the compressed bytes: type, size, alignment. */
static int inflate_section(const struct elf *elf, uint64_t limit, struct elf_blob *blob)
{
	struct bytes b = elf_blob_reader(elf, blob);
	uint32_t type = bytes_u32(&b);
	uint8_t *out;
	uint64_t size;
	int r;

	if (elf->is64)
		bytes_skip(&b, 4);
	size = elf_word(elf, &b);
	elf_word(elf, &b);
	if (b.bad)
		return -EBADMSG;
	/* Neither format shrinks more than about 1 : 1,032 (zlib) or, in practice, 1 : 20,000.
	 */
	if (size > limit || size / 20000 > bytes_left(&b) + 64)
		return -EFBIG;
	out = malloc(size ? (size_t)size : 1);
	if (!out)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZLIB)
		r = inflate_zlib(b.at, bytes_left(&b), out, (size_t)size);
	else if (type == 2 /* ELFCOMPRESS_ZSTD, which older headers lack */)
		r = inflate_zstd(b.at, bytes_left(&b), out, (size_t)size);
	else
		r = -EOPNOTSUPP;
	if (r < 0) {
		free(out);
		return r;
	}
	elf_blob_done(blob);
	blob->bytes = out;
	blob->len = (size_t)size;
	blob->owned = out;
	return 0;
}

int elf_load_section(const struct elf *elf, const struct elf_section *section, uint64_t limit,
	struct elf_blob *ret_blob)
{
	struct elf_blob blob = {0};
	int r;

	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return -ENODATA;
	r = elf_load(elf, section->foff, section->bytes, limit, &blob);
	if (r < 0)
		return r;
	if (section->flags & SHF_COMPRESSED) {
		r = inflate_section(elf, limit, &blob);
		if (r < 0) {
			elf_blob_done(&blob);
			return r;
		}
	}
	*ret_blob = blob;
	return 0;
}

static int header_parse(struct elf *elf, struct bytes b, struct header *ret)
{
	const uint8_t *ident = bytes_take(&b, EI_NIDENT);

	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if ((ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) ||
		(ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
		return -EBADMSG;
	elf->is64 = ident[EI_CLASS] == ELFCLASS64;
	elf->big_endian = ident[EI_DATA] == ELFDATA2MSB;
	elf->swap = elf->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	b.swap = elf->swap;
	elf->type = bytes_u16(&b);
	elf->machine = bytes_u16(&b);
	bytes_skip(&b, 4);
	elf->entry = elf_word(elf, &b);
	ret->phoff = elf_word(elf, &b);
	ret->shoff = elf_word(elf, &b);
	bytes_skip(&b, 4 + 2);
	ret->phentsize = bytes_u16(&b);
	ret->phnum = bytes_u16(&b);
	ret->shentsize = bytes_u16(&b);
	ret->shnum = bytes_u16(&b);
	ret->shstrndx = bytes_u16(&b);
	return b.bad ? -ENODATA : 0;
}

static struct elf_section section_parse(
	const struct elf *elf, struct bytes *b, uint32_t *ret_name)
{
	struct elf_section s = {.name = ""};

	*ret_name = bytes_u32(b);
	s.type = bytes_u32(b);
	s.flags = elf_word(elf, b);
	s.addr = elf_word(elf, b);
	s.foff = elf_word(elf, b);
	s.bytes = elf_word(elf, b);
	s.link = bytes_u32(b);
	s.info = bytes_u32(b);
	elf_word(elf, b);
	s.entry_bytes = elf_word(elf, b);
	return s;
}

/* Section 0 holds the counts that do not fit in the header. */
static int header_extend(const struct elf *elf, struct header *h)
{
	uint16_t need = elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct elf_blob blob = {0};
	struct elf_section first;
	struct bytes b;
	uint32_t name;
	int r;

	if (!h->shoff)
		h->shnum = 0;
	if (!h->shoff || (h->shnum && h->shstrndx != SHN_XINDEX && h->phnum != PN_XNUM))
		return 0;
	if (h->shentsize < need)
		return -EBADMSG;
	r = elf_load(elf, h->shoff, need, need, &blob);
	if (r < 0)
		return r;
	b = elf_blob_reader(elf, &blob);
	first = section_parse(elf, &b, &name);
	elf_blob_done(&blob);
	if (!h->shnum)
		h->shnum = first.bytes;
	if (h->shstrndx == SHN_XINDEX)
		h->shstrndx = first.link;
	if (h->phnum == PN_XNUM)
		h->phnum = first.info;
	return 0;
}

static void notes_look(struct elf *elf, uint64_t foff, uint64_t len, uint64_t align)
{
	struct elf_blob blob = {0};

	if (elf->build_id_bytes || elf_load(elf, foff, len, NOTES_MAX, &blob) < 0)
		return;
	elf->build_id_bytes =
		elf_notes_build_id(elf_blob_reader(elf, &blob), align, elf->build_id);
	elf_blob_done(&blob);
}

static void segment_parse(struct elf *elf, struct bytes b)
{
	struct elf_segment s = {0};
	uint32_t type = bytes_u32(&b), flags = 0;
	uint64_t align;

	if (elf->is64)
		flags = bytes_u32(&b);
	s.foff = elf_word(elf, &b);
	s.vaddr = elf_word(elf, &b);
	elf_word(elf, &b);
	s.file_bytes = elf_word(elf, &b);
	s.mem_bytes = elf_word(elf, &b);
	if (!elf->is64)
		flags = bytes_u32(&b);
	align = elf_word(elf, &b);
	s.exec = flags & PF_X;
	if (type == PT_NOTE)
		notes_look(elf, s.foff, s.file_bytes, align);
	/* A range that runs over the end of the address space would break every comparison. */
	if (type == PT_LOAD && s.file_bytes <= UINT64_MAX - s.foff &&
		s.mem_bytes <= UINT64_MAX - s.vaddr)
		elf->segments[elf->segment_count++] = s;
}

static int segments_read(struct elf *elf, const struct header *h)
{
	uint16_t need = elf->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	struct elf_blob blob = {0};
	int r;

	if (!h->phnum)
		return 0;
	if (h->phentsize < need || h->phnum > ELF_SEGMENTS_MAX)
		return -EBADMSG;
	r = elf_load(elf, h->phoff, h->phnum * h->phentsize, UINT64_MAX, &blob);
	if (r < 0)
		return r;
	elf->segments = calloc(h->phnum, sizeof(*elf->segments));
	if (!elf->segments)
		r = -ENOMEM;
	for (uint64_t i = 0; i < h->phnum && !r; i++) {
		struct bytes b = bytes_of(blob.bytes + i * h->phentsize, need);

		b.swap = elf->swap;
		segment_parse(elf, b);
	}
	elf_blob_done(&blob);
	return r;
}

/* Names get a NUL behind the table, so that any offset inside ends. */
static int names_read(struct elf *elf, const struct header *h, const uint32_t *offsets)
{
	struct elf_blob blob = {0};
	int r;

	if (h->shstrndx >= elf->section_count)
		return 0;
	r = elf_load_section(elf, &elf->sections[h->shstrndx], NAMES_MAX, &blob);
	if (r == -ENOMEM || r == -EIO)
		return r;
	if (r < 0)
		return r == -ENODATA ? r : -EBADMSG;
	elf->section_names = calloc(1, blob.len + 1);
	if (elf->section_names) {
		memcpy(elf->section_names, blob.bytes, blob.len);
		for (uint32_t i = 0; i < elf->section_count; i++)
			if (offsets[i] < blob.len)
				elf->sections[i].name = elf->section_names + offsets[i];
	}
	elf_blob_done(&blob);
	return elf->section_names ? 0 : -ENOMEM;
}

/* The table's entries, and each one's offset in the section of names. */
static int sections_parse(struct elf *elf, const struct header *h, uint32_t *ret_names)
{
	uint16_t need = elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	cleanup_elf_blob struct elf_blob blob = {0};
	int r = elf_load(elf, h->shoff, h->shnum * h->shentsize, UINT64_MAX, &blob);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < h->shnum; i++) {
		struct bytes b = bytes_of(blob.bytes + i * h->shentsize, need);

		b.swap = elf->swap;
		elf->sections[i] = section_parse(elf, &b, &ret_names[i]);
	}
	elf->section_count = (uint32_t)h->shnum;
	return 0;
}

static int sections_read(struct elf *elf, const struct header *h)
{
	uint16_t need = elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint32_t *names;
	int r = -ENOMEM;

	if (!h->shnum)
		return 0;
	if (h->shentsize < need || h->shnum > ELF_SECTIONS_MAX)
		return -EBADMSG;
	/* Before memory is taken: is the table there at all? */
	if (h->shoff > elf->file_bytes || h->shnum * h->shentsize > elf->file_bytes - h->shoff)
		return -ENODATA;
	elf->sections = calloc(h->shnum, sizeof(*elf->sections));
	names = calloc(h->shnum, sizeof(*names));
	if (elf->sections && names)
		r = sections_parse(elf, h, names);
	if (r >= 0)
		r = names_read(elf, h, names);
	free(names);
	for (uint32_t i = 0; i < elf->section_count && r >= 0; i++)
		if (elf->sections[i].type == SHT_NOTE)
			notes_look(elf, elf->sections[i].foff, elf->sections[i].bytes, 4);
	return r;
}

static int elf_read(struct elf *elf, struct error *err)
{
	uint64_t len = elf->file_bytes < EHDR_BYTES ? elf->file_bytes : EHDR_BYTES;
	struct elf_blob blob = {0};
	struct header h = {0};
	int r = elf_load(elf, 0, len, EHDR_BYTES, &blob);

	if (r < 0)
		return error_set(err, r, "cannot read the file: %s", strerror(-r));
	r = header_parse(elf, elf_blob_reader(elf, &blob), &h);
	elf_blob_done(&blob);
	if (r == -ENOEXEC)
		return error_set(err, r, "not an ELF file");
	if (r >= 0)
		r = header_extend(elf, &h);
	if (r >= 0)
		r = segments_read(elf, &h);
	if (r >= 0)
		r = sections_read(elf, &h);
	if (r == -ENODATA)
		return error_set(err, r,
			"the ELF file is truncated: its headers point beyond "
			"its %llu bytes",
			(unsigned long long)elf->file_bytes);
	if (r == -EBADMSG || r == -EFBIG)
		return error_set(
			err, -EBADMSG, "the ELF header is damaged (it contradicts itself)");
	if (r < 0)
		return error_set(err, r, "cannot read the ELF file: %s", strerror(-r));
	return 0;
}

int elf_open_fd(int fd, struct elf *ret_elf, struct error *err)
{
	struct elf elf = {.fd = fd};
	struct stat st;
	int r;

	*ret_elf = (struct elf){.fd = -1};
	if (fstat(fd, &st) < 0)
		return error_set(err, -errno, "cannot stat the file: %s", strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return error_set(err, -ENOEXEC, "not a regular file, so not an ELF file");
	elf.file_bytes = (uint64_t)st.st_size;
	r = elf_read(&elf, err);
	if (r < 0)
		elf_close(&elf);
	else
		*ret_elf = elf;
	return r;
}

int elf_open_bytes(const void *image, size_t len, struct elf *ret_elf, struct error *err)
{
	struct elf elf = {.fd = -1, .image = image, .file_bytes = len};
	int r;

	*ret_elf = (struct elf){.fd = -1};
	r = elf_read(&elf, err);
	if (r < 0)
		elf_close(&elf);
	else
		*ret_elf = elf;
	return r;
}

void elf_close(struct elf *elf)
{
	free(elf->segments);
	free(elf->sections);
	free(elf->section_names);
	*elf = (struct elf){.fd = -1};
}

const struct elf_section *elf_section(const struct elf *elf, const char *name)
{
	for (uint32_t i = 0; i < elf->section_count; i++)
		if (!strcmp(elf->sections[i].name, name))
			return &elf->sections[i];
	return NULL;
}

bool elf_foff_to_vaddr(
	const struct elf_segment *segments, uint32_t count, uint64_t foff, uint64_t *ret_vaddr)
{
	const struct elf_segment *found = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct elf_segment *s = &segments[i];

		if (foff >= s->foff && foff - s->foff < s->file_bytes &&
			(!found || (s->exec && !found->exec)))
			found = s;
	}
	if (found)
		*ret_vaddr = found->vaddr + (foff - found->foff);
	return found;
}

bool elf_vaddr_to_foff(
	const struct elf_segment *segments, uint32_t count, uint64_t vaddr, uint64_t *ret_foff)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct elf_segment *s = &segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes) {
			*ret_foff = s->foff + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}

/* A note: namesz, descsz, type, name, desc; name and desc are padded to 4 (8 in some files). */
uint8_t elf_notes_build_id(struct bytes notes, uint64_t align, uint8_t ret_id[20])
{
	uint64_t mask = align == 8 ? 7 : 3;

	while (!notes.bad && bytes_left(&notes) >= 12) {
		uint64_t name_bytes = bytes_u32(&notes), desc_bytes = bytes_u32(&notes);
		uint32_t type = bytes_u32(&notes);
		/* With an alignment of 8 the name's padding counts the 12 bytes before it. */
		const uint8_t *name =
			bytes_take(&notes, ((12 + name_bytes + mask) & ~mask) - 12);
		const uint8_t *desc = bytes_take(&notes, desc_bytes);
		uint64_t pad = -desc_bytes & mask;

		if (name && desc && type == NT_GNU_BUILD_ID && name_bytes == 4 && desc_bytes &&
			!memcmp(name, "GNU", 4)) {
			uint8_t len = desc_bytes < 20 ? (uint8_t)desc_bytes : 20;

			memset(ret_id, 0, 20);
			memcpy(ret_id, desc, len);
			return len;
		}
		bytes_skip(&notes, pad < bytes_left(&notes) ? pad : bytes_left(&notes));
	}
	return 0;
}

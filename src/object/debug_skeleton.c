/*
 * How: libdw opens the file that a skeleton's DW_AT_dwo_name names when it is asked for the
 * split part, and only then. Just before, the name is changed, in our image of the sections, to
 * that of a file in memory ("/proc/self/fd/7"), which holds the unit and nothing that libdw
 * could not read. The image has room for one such name behind its strings (DEBUG_NAME_ROOM);
 * the attribute is turned to it:
 *
 *     DW_FORM_strp, _line_strp      the offset in .debug_info
 *     DW_FORM_strx*, _GNU_str_index the offset in .debug_str_offsets
 *
 * libdw compares the unit's id with the skeleton's itself.
 */
#include "object/debug_internal.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool name_attr(Dwarf_Die *die, Dwarf_Attribute *ret)
{
	return dwarf_attr(die, DW_AT_dwo_name, ret) || dwarf_attr(die, DW_AT_GNU_dwo_name, ret);
}

bool debug_is_skeleton(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return name_attr(die, &attr);
}

static uint64_t number_read(const uint8_t *at, unsigned bytes, bool big_endian)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * (big_endian ? bytes - 1 - i : i);
	return value;
}

static void offset_write(uint8_t *at, uint32_t value, bool big_endian)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * (big_endian ? 3 - i : i));
}

/* Where in .debug_str_offsets the entry of an indexed string is; NULL: nowhere. */
static uint8_t *indexed_at(
	const struct debug_skeletons *s, Dwarf_Die *die, const Dwarf_Attribute *attr)
{
	const uint8_t *end = s->image->bytes + s->image->len;
	struct bytes b = bytes_of(attr->valp, (size_t)(end - attr->valp));
	uint64_t index, base = 0;
	Dwarf_Attribute base_attr;
	size_t len = 0;
	uint8_t *table = debug_image_section(s->image, ".debug_str_offsets", &len);

	switch (attr->form) {
	case DW_FORM_strx1:
		index = bytes_u8(&b);
		break;
	case DW_FORM_strx2:
		index = number_read(attr->valp, 2, s->big_endian);
		break;
	case DW_FORM_strx4:
		index = number_read(attr->valp, 4, s->big_endian);
		break;
	default:
		index = bytes_uleb(&b);
	}
	if (dwarf_attr(die, DW_AT_str_offsets_base, &base_attr))
		dwarf_formudata(&base_attr, &base);
	if (!table || b.bad || base > len || index > (len - base) / 4 ||
		len - base - index * 4 < 4)
		return NULL;
	return table + base + index * 4;
}

/* Turns the skeleton's attribute to `name`. */
static bool name_set(
	struct debug_skeletons *s, Dwarf_Die *die, Dwarf_Attribute *attr, const char *name)
{
	bool line_str = attr->form == DW_FORM_line_strp;
	size_t len = 0, name_bytes = strlen(name) + 1;
	uint8_t *strings, *at = attr->valp;
	uint8_t offset_bytes = 0;

	if (dwarf_cu_info(attr->cu, NULL, NULL, NULL, NULL, NULL, NULL, &offset_bytes) != 0 ||
		offset_bytes != 4)
		return false;
	strings = debug_image_section(
		s->image, line_str ? ".debug_line_str" : ".debug_str", &len);
	if (!strings || len < DEBUG_NAME_ROOM || name_bytes > DEBUG_NAME_ROOM)
		return false;
	switch (attr->form) {
	case DW_FORM_strp:
	case DW_FORM_line_strp:
		break;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		at = indexed_at(s, die, attr);
		break;
	default:
		return false;
	}
	/* It must be ours: the image that libdw was given. */
	if (!at || at < s->image->bytes || at + 4 > s->image->bytes + s->image->len)
		return false;
	memcpy(strings + len - DEBUG_NAME_ROOM, name, name_bytes);
	offset_write(at, (uint32_t)(len - DEBUG_NAME_ROOM), s->big_endian);
	return true;
}

static uint64_t unit_id_of(Dwarf_Die *die, Dwarf_CU *cu)
{
	Dwarf_Attribute attr;
	uint64_t id = 0;

	if (dwarf_attr(die, DW_AT_GNU_dwo_id, &attr) && !dwarf_formudata(&attr, &id))
		return id;
	dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &id, NULL, NULL);
	return id;
}

static int image_find(struct debug_skeletons *s, struct debug_unit *unit, Dwarf_Die *die,
	Dwarf_CU *cu, struct debug_image *ret_image)
{
	cleanup_close int fd = -1;
	Dwarf_Attribute attr;
	const char *dir = NULL;
	int r = -ENOENT;

	if (s->package)
		r = debug_package_unit(s->package, unit_id_of(die, cu), ret_image);
	if (!r || r == -ENOMEM || !s->finder)
		return r;
	if (dwarf_attr(die, DW_AT_comp_dir, &attr))
		dir = dwarf_formstring(&attr);
	fd = s->finder->open(s->finder->ctx, dir ? dir : "", unit->dwo_name);
	return fd < 0 ? -ENOENT : debug_dwo_load(fd, ret_image);
}

/* A descriptor of a file in memory with those bytes. */
static int image_publish(const struct debug_image *image)
{
	cleanup_close int fd = memfd_create("unit", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < image->len) {
		ssize_t n = write(fd, image->bytes + done, image->len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return fd < 0 ? -errno : take_fd(&fd);
}

int debug_skeleton_join(struct debug_skeletons *s, struct debug_unit *unit, Dwarf_Die *die,
	Dwarf_Die *ret_die, uint64_t *ret_bytes)
{
	cleanup_with(debug_image_done) struct debug_image image = {0};
	cleanup_close int fd = -1;
	Dwarf_Attribute attr;
	Dwarf_Die split = {0};
	char name[DEBUG_NAME_ROOM];
	int r;

	if (!name_attr(die, &attr))
		return 0;
	if (!unit->dwo_name) { /* before it is changed */
		const char *text = dwarf_formstring(&attr);

		unit->dwo_name = text ? strdup(text) : NULL;
		if (!unit->dwo_name)
			return text ? -ENOMEM : 0;
	}
	r = image_find(s, unit, die, attr.cu, &image);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	fd = image_publish(&image);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fd < 0 || !name_set(s, die, &attr, name) ||
		dwarf_cu_info(attr.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) != 0 ||
		!split.addr)
		return 0;
	*ret_die = split;
	*ret_bytes = image.len;
	return 1;
}

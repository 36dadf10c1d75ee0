/*
 * How: the ranges of all units make one table of intervals, address -> unit. It is built when
 * the file is opened (the first entry of each unit is read) rather than taken from
 * .debug_aranges, which clang does not write and others write in part. A unit that says no
 * ranges of its own is asked for its functions'.
 *
 *     vaddr --units--> unit --ranges--> scope, its parents    the functions
 *                           --rows----> file:line             of the innermost
 *
 * The line of an outer function is the call that the copy in it was made from.
 */
#include "object/debug_internal.h"

#include "base/array.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

enum { UNITS_MAX = 1 << 24 };

struct debug_info {
	struct debug_image image, alt_image;
	struct debug_package *package;
	struct debug_skeletons skeletons;
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	struct debug_unit *units;
	uint32_t unit_count, unit_cap;
	struct intervals ranges; /* to units; the first of two wins */
	struct debug_names names;
	uint64_t walked_bytes;
	struct debug_step steps[DEBUG_STEPS_MAX];
};

/* Opens the images in libdw. */
static int handles_open(struct debug_info *info)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EOPNOTSUPP;
	info->elf = elf_memory((char *)info->image.bytes, info->image.len);
	info->dwarf = info->elf ? dwarf_begin_elf(info->elf, DWARF_C_READ, NULL) : NULL;
	if (!info->dwarf)
		return -EBADMSG;
	if (!info->alt_image.bytes)
		return 0;
	info->alt_elf = elf_memory((char *)info->alt_image.bytes, info->alt_image.len);
	info->alt = info->alt_elf ? dwarf_begin_elf(info->alt_elf, DWARF_C_READ, NULL) : NULL;
	if (info->alt)
		dwarf_setalt(info->dwarf, info->alt);
	return 0;
}

/* Everything that points into libdw's memory goes with it. */
static void handles_close(struct debug_info *info)
{
	for (uint32_t i = 0; i < info->unit_count; i++)
		debug_unit_done(&info->units[i]);
	debug_names_done(&info->names);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	if (info->alt)
		dwarf_end(info->alt);
	if (info->elf)
		elf_end(info->elf);
	if (info->alt_elf)
		elf_end(info->alt_elf);
	info->dwarf = info->alt = NULL;
	info->elf = info->alt_elf = NULL;
	info->walked_bytes = 0;
}

/* A unit without ranges: its functions have them. */
static int functions_add(struct debug_info *info, Dwarf_Die *unit, uint32_t value)
{
	uint32_t left = DEBUG_SCOPES_MAX;
	Dwarf_Die child;
	uint64_t lo;

	if (dwarf_child(unit, &child) != 0)
		return 0;
	do {
		int r = 0;

		if (dwarf_tag(&child) == DW_TAG_subprogram)
			r = debug_ranges_add(&info->ranges, &child, value, &lo);
		if (r < 0)
			return r;
	} while (--left && !dwarf_siblingof(&child, &child));
	return 0;
}

static int unit_add(struct debug_info *info, Dwarf_Die *die)
{
	uint32_t value = UINT32_MAX - 1 - info->unit_count;
	uint64_t lo;
	int r = array_reserve(&info->units, &info->unit_cap, (uint64_t)info->unit_count + 1,
		sizeof(*info->units), UNITS_MAX);

	if (r < 0)
		return r;
	if (info->unit_count)
		info->units[info->unit_count - 1].bytes =
			dwarf_dieoffset(die) - info->units[info->unit_count - 1].offset;
	info->units[info->unit_count++] =
		(struct debug_unit){.offset = dwarf_dieoffset(die), .bytes = info->image.len};
	r = debug_ranges_add(&info->ranges, die, value, &lo);
	return r ? r : functions_add(info, die, value);
}

static int units_list(struct debug_info *info)
{
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;
	int r = 0;

	while (r >= 0 && !dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, NULL)) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
			r = unit_add(info, &die);
	}
	return r == -ENOMEM ? r : intervals_flatten(&info->ranges);
}

/* What dwz split off may be missing or damaged: there are fewer names then. */
static int images_load(struct debug_info *info, const struct debug_files *files)
{
	uint64_t limit = files->bytes_max ? files->bytes_max : DEBUG_IMAGE_MAX;
	int r = debug_image_load(files->elf, limit, &info->image), alt_r = 0;

	if (!r && files->bytes_max)
		limit -= info->image.len < limit ? info->image.len : limit;
	if (!r && files->alt)
		alt_r = debug_image_load(files->alt, limit, &info->alt_image);
	return alt_r == -ENOMEM || (alt_r == -EFBIG && files->bytes_max) ? alt_r : r;
}

int debug_info_open(const struct debug_files *files, struct debug_info **ret_info)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	int r;

	if (!info)
		return -ENOMEM;
	r = images_load(info, files);
	info->package = debug_package_open(files->dwp);
	info->skeletons = (struct debug_skeletons){
		info->package, files->finder, &info->image, files->elf->big_endian};
	if (!r)
		r = handles_open(info);
	if (!r)
		r = units_list(info);
	if (r < 0) {
		debug_info_close(info);
		return r;
	}
	*ret_info = info;
	return 0;
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	handles_close(info);
	debug_image_done(&info->image);
	debug_image_done(&info->alt_image);
	debug_package_close(info->package);
	for (uint32_t i = 0; i < info->unit_count; i++)
		free(info->units[i].dwo_name);
	intervals_done(&info->ranges);
	free(info->units);
	free(info);
}

uint64_t debug_info_bytes(const struct debug_info *info)
{
	return info->image.len + info->alt_image.len + info->walked_bytes +
	       info->unit_count * sizeof(*info->units) +
	       info->ranges.cap * sizeof(*info->ranges.items);
}

bool debug_info_is_walked(const struct debug_info *info, uint64_t vaddr)
{
	uint32_t id = intervals_find(&info->ranges, vaddr);

	return id == UINT32_MAX || info->units[UINT32_MAX - 1 - id].walked;
}

static int unit_get(struct debug_info *info, uint32_t id, struct debug_unit **ret_unit)
{
	struct debug_unit *unit = &info->units[id];
	Dwarf_Die die, split;
	uint64_t split_bytes = 0;
	int r;

	*ret_unit = unit;
	if (unit->walked)
		return 0;
	if (info->walked_bytes > DEBUG_UNITS_BYTES) {
		handles_close(info);
		r = handles_open(info);
		if (r < 0)
			return r;
	}
	if (!dwarf_offdie(info->dwarf, unit->offset, &die)) {
		unit->walked = true;
		return 0;
	}
	r = debug_skeleton_join(&info->skeletons, unit, &die, &split, &split_bytes);
	if (r > 0)
		r = debug_unit_walk(unit, &split, &die, split_bytes);
	else if (!r)
		r = debug_unit_walk(unit, &die, &die, unit->bytes);
	info->walked_bytes += debug_unit_bytes(unit) + 2 * split_bytes;
	return r;
}

static const struct debug_row *row_find(const struct debug_unit *unit, uint64_t vaddr)
{
	uint32_t lo = 0, hi = unit->row_count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (unit->rows[mid].addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && !unit->rows[lo - 1].end ? &unit->rows[lo - 1] : NULL;
}

/* The file's name with its directory before it, in place. */
static int file_whole(struct debug_info *info, const struct debug_unit *unit, const char **file)
{
	return *file ? debug_names_file(&info->names, unit->comp_dir, *file, file) : 0;
}

static const char *call_file(const struct debug_unit *unit, uint32_t number)
{
	return unit->files && number < unit->file_count
		       ? dwarf_filesrc(unit->files, number, NULL, NULL)
		       : NULL;
}

/* The scope and the ones around it, with the place where execution is in the first. */
static int steps_make(struct debug_info *info, const struct debug_unit *unit, uint32_t scope,
	struct debug_step place)
{
	int n = 0, r;

	while (scope != UINT32_MAX && n < DEBUG_STEPS_MAX) {
		const struct debug_scope *at = &unit->scopes[scope];
		struct debug_name name = {0};

		r = debug_names_get(&info->names, &at->die, &name);
		if (r < 0)
			return r;
		place.name = name.name;
		place.linkage_name = name.linkage_name;
		place.vaddr = at->parent == UINT32_MAX ? at->lo : 0;
		info->steps[n++] = place;
		place = (struct debug_step){.file = call_file(unit, at->call_file),
			.line = at->call_line,
			.column = at->call_column};
		scope = at->parent;
	}
	return n;
}

int debug_info_find(
	struct debug_info *info, uint64_t vaddr, const struct debug_step **ret_steps)
{
	uint32_t id = intervals_find(&info->ranges, vaddr), scope;
	const struct debug_row *row;
	struct debug_unit *unit;
	struct debug_step place = {0};
	int n = 0, r;

	*ret_steps = info->steps;
	if (id == UINT32_MAX || !info->dwarf)
		return 0;
	r = unit_get(info, UINT32_MAX - 1 - id, &unit);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	row = row_find(unit, vaddr);
	if (row)
		place = (struct debug_step){
			.file = row->file, .line = row->line, .column = row->column};
	scope = intervals_find(&unit->ranges, vaddr);
	if (scope == UINT32_MAX && row)
		info->steps[n++] = place;
	else
		n = steps_make(info, unit, scope, place);
	for (int i = 0; i < n; i++) {
		r = file_whole(info, unit, &info->steps[i].file);
		if (r < 0)
			return r;
	}
	return n;
}

int debug_info_lines(struct debug_info *info, uint64_t start, uint64_t end,
	int (*row)(void *ctx, const struct debug_line *line), void *ctx)
{
	uint32_t id = intervals_find(&info->ranges, start);
	const struct debug_row *at, *last;
	struct debug_unit *unit;
	int r;

	if (id == UINT32_MAX || !info->dwarf)
		return 0;
	r = unit_get(info, UINT32_MAX - 1 - id, &unit);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	at = row_find(unit, start);
	if (!at)
		return 0;
	last = unit->rows + unit->row_count;
	for (; r == 0 && at < last && at->addr < end; at++) {
		struct debug_line line = {.vaddr = at->addr < start ? start : at->addr};

		if (!at->end && at->line) {
			line.file = at->file;
			line.line = at->line;
		}
		r = file_whole(info, unit, &line.file);
		if (r >= 0)
			r = row(ctx, &line);
	}
	return r;
}

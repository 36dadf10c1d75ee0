/*
 * How: a copy points to its original (DW_AT_abstract_origin), a definition to its declaration
 * (DW_AT_specification); the first linkage name and the first name on that way count. An
 * original without a linkage name that is not C stands in namespaces and classes that its name
 * lacks; only the tree of the unit says which, so each original is looked at once.
 */
#include "object/debug_internal.h"

#include "base/array.h"
#include "base/strbuf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 26, SCOPES_MAX = 64, PART_MAX = 64 << 10 };

static const char *own_string(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	const char *text;

	if (!dwarf_attr(die, attribute, &attr))
		return NULL;
	text = dwarf_formstring(&attr);
	return text && text[0] && strnlen(text, PART_MAX) < PART_MAX ? text : NULL;
}

/* One hop; false: this is the end. */
static bool towards_original(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die next;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
		!dwarf_attr(die, DW_AT_specification, &attr))
		return false;
	if (!dwarf_formref_die(&attr, &next))
		return false;
	*die = next;
	return true;
}

static bool has_scopes(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
	case DW_LANG_Go: /* its names are whole */
		return false;
	default:
		return true;
	}
}

static const char *scope_name(Dwarf_Die *die)
{
	const char *name;

	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		name = own_string(die, DW_AT_name);
		return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		name = own_string(die, DW_AT_name);
		return name ? name : "{unnamed}";
	case DW_TAG_module:
	case DW_TAG_subprogram:
		return own_string(die, DW_AT_name);
	default:
		return NULL;
	}
}

/*
 * The entries that `die` stands in, outermost first. Entries stand in the order of the tree, so
 * the way down leads through the last one of each list that begins no later than `die`.
 */
static int path_find(const Dwarf_Die *die, Dwarf_Die path[SCOPES_MAX])
{
	Dwarf_Die self = *die, at, child;
	int n = 0;

	if (!dwarf_diecu(&self, &at, NULL, NULL))
		return 0;
	while (n < SCOPES_MAX && !dwarf_child(&at, &child) && child.addr <= die->addr) {
		do
			at = child;
		while (!dwarf_siblingof(&child, &child) && child.addr <= die->addr);
		if (at.addr == die->addr)
			return n;
		path[n++] = at;
	}
	return 0;
}

/* "foo::bar::" before the name. */
static void scopes_put(struct strbuf *out, const Dwarf_Die *die)
{
	Dwarf_Die path[SCOPES_MAX];
	int n = path_find(die, path);

	for (int i = 0; i < n; i++) {
		const char *name = scope_name(&path[i]);

		if (name)
			strbuf_printf(out, "%s::", name);
	}
}

static int name_make(struct debug_names *names, const Dwarf_Die *start, struct debug_name *ret)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	const char *linkage = NULL, *name = NULL;
	Dwarf_Die die = *start;

	for (int hops = 0; hops < DEBUG_HOPS_MAX; hops++) {
		if (!linkage)
			linkage = own_string(&die, DW_AT_linkage_name);
		if (!linkage)
			linkage = own_string(&die, DW_AT_MIPS_linkage_name);
		if (!name)
			name = own_string(&die, DW_AT_name);
		if ((linkage && name) || !towards_original(&die))
			break;
	}
	if (name && !linkage && has_scopes(&die))
		scopes_put(&text, &die);
	if (name)
		strbuf_puts(&text, name);
	if (text.failed)
		return -ENOMEM;
	if (linkage)
		ret->linkage_name = arena_strndup(&names->arena, linkage, strlen(linkage));
	if (name)
		ret->name = arena_strndup(&names->arena, strbuf_text(&text), text.len);
	return (linkage && !ret->linkage_name) || (name && !ret->name) ? -ENOMEM : 0;
}

static bool known_find(const struct debug_names *names, const void *key, struct debug_name *ret)
{
	struct hash_probe probe = hash_probe(&names->index, hash_u64((uintptr_t)key));
	uint32_t id;

	while (hash_next(&names->index, &probe, &id)) {
		if (names->items[id].key == key) {
			*ret = names->items[id];
			return true;
		}
	}
	return false;
}

static int known_add(struct debug_names *names, const struct debug_name *name)
{
	int r = array_reserve(&names->items, &names->cap, (uint64_t)names->count + 1,
		sizeof(*names->items), NAMES_MAX);

	if (r >= 0)
		r = hash_add(&names->index, hash_u64((uintptr_t)name->key), names->count);
	if (r >= 0)
		names->items[names->count++] = *name;
	return r == -ENOMEM ? r : 0;
}

int debug_names_get(struct debug_names *names, const Dwarf_Die *die, struct debug_name *ret)
{
	Dwarf_Die original = *die, next;
	struct debug_name made = {0};
	Dwarf_Attribute attr;
	int r;

	if (dwarf_attr(&original, DW_AT_abstract_origin, &attr) &&
		dwarf_formref_die(&attr, &next))
		original = next;
	if (known_find(names, original.addr, ret))
		return 0;
	r = name_make(names, die, &made);
	if (r < 0)
		return r;
	made.key = original.addr;
	*ret = made;
	return known_add(names, &made);
}

/* libdw puts the directory before a file, but not the unit's before a relative directory. */
int debug_names_file(struct debug_names *names, const char *comp_dir, const char *file,
	const char **ret_file)
{
	size_t dir_len = comp_dir ? strlen(comp_dir) : 0;
	struct debug_name made = {.key = file};
	struct strbuf text = {0};

	*ret_file = file;
	if (!dir_len || file[0] == '/' ||
		(!strncmp(file, comp_dir, dir_len) && file[dir_len] == '/'))
		return 0;
	if (known_find(names, file, &made)) {
		*ret_file = made.name;
		return 0;
	}
	strbuf_printf(&text, "%s/%s", comp_dir, file);
	if (!text.failed)
		made.name = arena_strndup(&names->arena, strbuf_text(&text), text.len);
	strbuf_done(&text);
	if (!made.name)
		return -ENOMEM;
	*ret_file = made.name;
	return known_add(names, &made);
}

void debug_names_done(struct debug_names *names)
{
	arena_done(&names->arena);
	free(names->items);
	hash_done(&names->index);
	*names = (struct debug_names){0};
}

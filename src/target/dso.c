/*
 * The table of mapped objects: an append-only array and a hash of their keys. A record that
 * gives a build id has no inode and the other way round, so one file may have two entries where
 * a file mixes both; whoever opens it finds the same build id.
 */
#include "target/target.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

static uint32_t key_hash(const struct dso_key *key)
{
	uint32_t hash = hash_pair((uint64_t)key->kind << 32 | key->path, key->ino);

	hash = hash_pair(hash, (uint64_t)key->maj << 32 | key->min);
	hash = hash_pair(hash, key->anon_pid);
	return hash_pair(hash, hash_bytes(key->build_id, key->build_id_bytes));
}

/* Records name the inode's generation, /proc does not: 0 stands for any. */
static bool generation_equal(uint64_t a, uint64_t b)
{
	return a == b || !a || !b;
}

static bool key_equal(const struct dso_key *a, const struct dso_key *b)
{
	return a->kind == b->kind && a->path == b->path && a->maj == b->maj &&
	       a->min == b->min && a->ino == b->ino &&
	       generation_equal(a->ino_generation, b->ino_generation) &&
	       a->anon_pid == b->anon_pid && a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

int target_dso(struct target *target, const struct dso_key *key, uint32_t *ret_dso)
{
	struct dso_key clean = *key;
	struct hash_probe probe;
	uint32_t hash, id;
	int rc;

	if (clean.build_id_bytes > TARGET_BUILD_ID_MAX)
		clean.build_id_bytes = TARGET_BUILD_ID_MAX;
	hash = key_hash(&clean);
	probe = hash_probe(&target->by_dso, hash);
	while (hash_next(&target->by_dso, &probe, &id)) {
		struct dso_key *known = &target->dsos[id].key;

		if (key_equal(known, &clean)) {
			if (!known->ino_generation)
				known->ino_generation = clean.ino_generation;
			*ret_dso = id;
			return 0;
		}
	}
	rc = array_reserve(&target->dsos, &target->dso_cap, (uint64_t)target->dso_count + 1,
		sizeof(*target->dsos), TARGET_DSOS_LIMIT);
	if (rc == 0)
		rc = hash_add(&target->by_dso, hash, target->dso_count);
	if (rc < 0) {
		target->refused++;
		return rc;
	}
	target->dsos[target->dso_count] = (struct dso){.key = clean};
	*ret_dso = target->dso_count++;
	return 0;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool starts_with_any(const char *text, const char *const *prefixes)
{
	for (; *prefixes; prefixes++) {
		if (starts_with(text, *prefixes))
			return true;
	}
	return false;
}

enum dso_kind dso_kind_of(const char *filename, bool in_kernel)
{
	static const char *const kernels[] = {
		"[kernel", "[guest.kernel", "vmlinux", "/boot/vmlinu", NULL};
	static const char *const anons[] = {"//anon", "[", "/dev/zero", "/anon_hugepage",
		"/SYSV", "/memfd:", "//enomem", "//toolong", NULL};
	const char *base = strrchr(filename, '/');

	if (in_kernel) {
		bool kernel = starts_with_any(filename, kernels) ||
			      (base && starts_with(base + 1, "vmlinux"));

		return kernel ? DSO_KERNEL : DSO_KMODULE;
	}
	if (starts_with(filename, "[vdso"))
		return DSO_VDSO;
	return !*filename || starts_with_any(filename, anons) ? DSO_ANON : DSO_FILE;
}

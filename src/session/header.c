#include "session/header.h"

#include "abi/perf_abi.h"
#include "base/strbuf.h"
#include "proc/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void header_clock(struct perfdata_features *features, clockid_t clock)
{
	struct timespec resolution;

	if (clock < 0)
		return;
	features->clockid_res_ns =
		clock_getres(clock, &resolution) ? 1 : (uint64_t)resolution.tv_nsec;
	features->has_clock_data = true;
	features->clockid = (uint32_t)clock;
	features->clockid_ns = clock_ns(clock);
	features->wall_clock_ns = clock_ns(CLOCK_REALTIME);
}

static int header_cmdline(struct perfdata_features *features, char *const *argv)
{
	uint32_t n = 0;

	while (argv && argv[n])
		n++;
	features->cmdline = calloc(n + 2, sizeof(char *));
	if (!features->cmdline)
		return -ENOMEM;
	features->cmdline[features->cmdline_count++] = strdup("wick");
	for (uint32_t i = 0; i < n; i++)
		features->cmdline[features->cmdline_count++] = strdup(argv[i]);
	for (uint32_t i = 0; i < features->cmdline_count; i++)
		if (!features->cmdline[i])
			return -ENOMEM;
	return 0;
}

/* Build ids by file: what perf's tools look in the header for. Adds those of new dsos. */
static int header_build_ids(struct perfdata_features *features, const struct target *target)
{
	struct perfdata_build_id *grown = reallocarray(
		features->build_ids, target->dso_count + 1u, sizeof(*features->build_ids));
	uint32_t have = features->build_id_count, seen = 0;

	if (!grown)
		return -ENOMEM;
	features->build_ids = grown;
	for (uint32_t i = 0; i < target->dso_count; i++) {
		const struct dso_key *key = &target->dsos[i].key;
		struct perfdata_build_id *id = &grown[features->build_id_count];

		if (!key->build_id_bytes || seen++ < have)
			continue;
		*id = (struct perfdata_build_id){
			.pid = -1,
			.misc = key->kind == DSO_KERNEL ? PERF_RECORD_MISC_KERNEL
							: PERF_RECORD_MISC_USER,
			.len = key->build_id_bytes,
			.filename = strdup(strings_get(&target->strings, key->path)),
		};
		memcpy(id->bytes, key->build_id, sizeof(id->bytes));
		if (!id->filename)
			return -ENOMEM;
		features->build_id_count++;
	}
	return 0;
}

static int header_quality(struct perfdata_features *features, const struct quality *quality)
{
	struct strbuf text = {0};

	quality_write(quality, &text);
	if (text.failed) {
		strbuf_done(&text);
		return -ENOMEM;
	}
	features->quality = text.text;
	features->quality_bytes = text.len;
	return 0;
}

int header_fill(struct perfdata_features *features, const struct proc *proc,
	char *const *own_argv, clockid_t clock)
{
	struct host_facts host;

	*features = (struct perfdata_features){0};
	host_facts_read(proc, &host);
	features->hostname = strdup(host.hostname);
	features->osrelease = strdup(host.osrelease);
	features->version = strdup("wick " WICK_VERSION);
	features->arch = strdup(host.arch);
	features->cpudesc = host.cpudesc[0] ? strdup(host.cpudesc) : NULL;
	if (!features->hostname || !features->osrelease || !features->version ||
		!features->arch)
		return -ENOMEM;
	features->nrcpus_online = host.cpus_online;
	features->nrcpus_available = host.cpus_possible;
	features->total_mem_kb = host.mem_kb;
	header_clock(features, clock);
	return header_cmdline(features, own_argv);
}

int header_refresh(struct perfdata_features *features, const struct quality *quality,
	const struct target *target)
{
	int rc = header_build_ids(features, target);

	if (quality->first_ns != QUALITY_UNKNOWN) {
		features->first_sample_ns = quality->first_ns;
		features->last_sample_ns = quality->last_ns;
	}
	free(features->quality);
	features->quality = NULL;
	features->quality_bytes = 0;
	return rc < 0 ? rc : header_quality(features, quality);
}

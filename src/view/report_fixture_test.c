/* Makes it, and writes a report into a text. */
#include "view/report_fixture.h"
#include "tests/unit_test.h"

#include "base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint32_t add_module(struct profile *profile, enum module_kind kind, const char *path)
{
	struct module module = {.kind = kind};
	uint32_t id;

	assert_int_equal(profile_string(profile, path, &module.path), 0);
	assert_int_equal(profile_module(profile, &module, &id), 0);
	return id;
}

uint32_t add_frame(struct profile *profile, uint32_t module, uint64_t addr, ...)
{
	struct line lines[4] = {0};
	uint32_t frame, n = 0;
	const char *name;
	va_list names;

	assert_int_equal(profile_frame(profile, module, addr, false, addr, &frame), 0);
	va_start(names, addr);
	while ((name = va_arg(names, const char *)) != NULL) {
		struct function function = {.module = module, .addr = addr};

		assert_int_equal(profile_string(profile, name, &function.name), 0);
		function.linkage_name = function.name;
		assert_int_equal(profile_function(profile, &function, &lines[n++].function), 0);
	}
	va_end(names);
	assert_int_equal(profile_resolve(profile, frame, lines, n), 0);
	return frame;
}

void add_samples(struct profile *profile, uint32_t thread, uint32_t n, uint32_t depth,
	const uint32_t *frames)
{
	struct sample sample = {.weight = TICK_NS, .stack = PROFILE_NONE, .thread = thread};

	for (uint32_t i = 0; i < depth; i++)
		assert_int_equal(
			profile_stack(profile, sample.stack, frames[i], &sample.stack), 0);
	for (uint32_t i = 0; i < n; i++) {
		sample.time_ns = 1000 + (uint64_t)profile->sample_count * TICK_NS;
		assert_int_equal(profile_add(profile, &sample), 0);
	}
}

void quality_from_samples(struct profile *profile)
{
	struct quality *quality = &profile->quality;

	quality_init(quality);
	strcpy(quality->event, "cpu-clock");
	quality->source = SOURCE_KERNEL;
	quality->scope = SCOPE_INHERIT;
	quality->weight_is_ns = true;
	quality->frequency_hz = 100;
	quality->wall_ns = 2000000000;
	quality->samples = profile->sample_count;
	quality->period_sum = (uint64_t)profile->sample_count * TICK_NS;
	quality->event_count = quality->cpu_ns = quality->period_sum;
	quality->lost_read = 0;
	quality->stops[STOP_ROOT] = profile->sample_count;
}

void small_init(struct small *it)
{
	struct profile *profile = &it->profile;
	uint32_t event;

	*it = (struct small){0};
	it->app = add_module(profile, MODULE_FILE, "/usr/bin/app");
	it->lib = add_module(profile, MODULE_FILE, "/usr/lib/libx.so.1");
	assert_int_equal(profile_event(profile, "cpu-clock", true, &event), 0);
	assert_int_equal(profile_thread(profile, 10, 10, "app", &it->main_thread), 0);
	assert_int_equal(profile_thread(profile, 10, 11, "worker", &it->worker), 0);
	it->main = add_frame(profile, it->app, 0x10, "main", NULL);
	it->work = add_frame(profile, it->app, 0x20, "work(int)", NULL);
	it->rec = add_frame(profile, it->app, 0x30, "rec", NULL);
	it->leaf = add_frame(profile, it->lib, 0x40, "leaf", NULL);
	it->unknown = add_frame(profile, it->lib, 0x50, NULL);
	add_samples(
		profile, it->main_thread, 40, 3, (uint32_t[]){it->main, it->work, it->leaf});
	add_samples(profile, it->main_thread, 20, 2, (uint32_t[]){it->main, it->work});
	add_samples(
		profile, it->worker, 30, 4, (uint32_t[]){it->main, it->rec, it->rec, it->leaf});
	add_samples(profile, it->worker, 5, 1, (uint32_t[]){it->main});
	add_samples(profile, it->worker, 5, 2, (uint32_t[]){it->main, it->unknown});
	quality_from_samples(profile);
}

char *report(const struct profile *profile, const struct report_options *options)
{
	struct error err = {""};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int rc = report_write(profile, options, out, &err);

	fclose(out);
	if (rc != 0)
		fail_msg("%d: %s", rc, err.text);
	return text;
}

const char *body(const char *text)
{
	const char *gap = strstr(text, "\n\n");

	return gap ? gap + 2 : "";
}

struct report_options defaults(void)
{
	struct report_options options;

	report_options_init(&options);
	return options;
}

void expect_body(const struct profile *profile, const struct report_options *options,
	const char *expected)
{
	cleanup_free char *text = report(profile, options);

	assert_string_equal(body(text), expected);
}

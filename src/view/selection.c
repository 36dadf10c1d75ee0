/*
 * The thread filter becomes one flag a thread, the time range two absolute times; asking
 * whether a sample is in costs two comparisons and a look-up.
 */
#include "view/selection.h"

#include "base/cleanup.h"
#include "base/fileio.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool thread_matches(
	const struct profile *profile, const struct profile_thread *thread, const char *word)
{
	uint64_t number;

	if (parse_u64(word, strlen(word), &number) == 0 &&
		((int64_t)number == thread->tid || (int64_t)number == thread->pid))
		return true;
	return fnmatch(word, profile_text(profile, thread->comm), 0) == 0;
}

static int select_threads(struct selection *selection, const struct profile *profile,
	const char *threads, struct error *err)
{
	cleanup_free char *copy = strdup(threads);
	char *rest = copy, *word;

	selection->threads = calloc(profile->thread_count + 1, sizeof(*selection->threads));
	if (!copy || !selection->threads)
		return error_set(err, -ENOMEM, "out of memory while choosing threads");
	while ((word = strsep(&rest, ",")) != NULL) {
		bool found = false;

		for (uint32_t i = 0; i < profile->thread_count; i++) {
			if (!thread_matches(profile, &profile->threads[i], word))
				continue;
			selection->threads[i] = found = true;
		}
		if (!found)
			return error_set(err, -ENOENT,
				"--thread %s: no thread of the recording has this name, tid or "
				"pid "
				"(--sort comm,tid lists them)",
				word);
	}
	return 0;
}

/* "1.5" seconds or "10%" of the recording; 0 or -EINVAL. */
static int parse_moment(const char *text, size_t len, uint64_t span_ns, uint64_t *ret_ns)
{
	bool percent = len > 0 && text[len - 1] == '%';
	uint64_t whole = 0, billionths = 0;
	const char *dot;
	size_t digits;

	if (percent || (len > 0 && text[len - 1] == 's'))
		len--;
	dot = memchr(text, '.', len);
	digits = dot ? (size_t)(dot - text) : len;
	if (digits == 0 || digits > 9 || strspn(text, "0123456789") < digits ||
		parse_u64(text, digits, &whole) < 0)
		return -EINVAL;
	for (size_t i = digits + 1, unit = 100000000; i < len; i++, unit /= 10) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		billionths += (uint64_t)(text[i] - '0') * unit;
	}
	if (percent) {
		double share = ((double)whole + (double)billionths / 1e9) / 100;

		*ret_ns = share >= 1 ? span_ns : (uint64_t)((double)span_ns * share);
	} else {
		*ret_ns = whole * 1000000000 + billionths;
	}
	return 0;
}

static int select_time(struct selection *selection, const char *range, struct error *err)
{
	const char *dots = strstr(range, "..");
	uint64_t span = selection->end_ns - selection->start_ns, from = 0, to = UINT64_MAX;

	if (!dots ||
		(dots > range && parse_moment(range, (size_t)(dots - range), span, &from)) ||
		(dots[2] && parse_moment(dots + 2, strlen(dots + 2), span, &to)))
		return error_set(err, -EINVAL,
			"--time %s: expected FROM..TO in seconds since the first sample or in "
			"percent, as in 1.5..3 or 10%%..20%% (one end may be left out)",
			range);
	if (from > to)
		return error_set(err, -EINVAL, "--time %s: ends before it starts", range);
	selection->first_ns = from > UINT64_MAX - selection->start_ns
				      ? UINT64_MAX
				      : selection->start_ns + from;
	selection->last_ns =
		to > UINT64_MAX - selection->start_ns ? UINT64_MAX : selection->start_ns + to;
	return 0;
}

int selection_init(struct selection *selection, const struct profile *profile,
	const char *threads, const char *range, struct error *err)
{
	int rc = 0;

	*selection = (struct selection){.last_ns = UINT64_MAX, .start_ns = UINT64_MAX};
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		uint64_t time = profile->samples[i].time_ns;

		if (time < selection->start_ns)
			selection->start_ns = time;
		if (time > selection->end_ns)
			selection->end_ns = time;
	}
	if (profile->sample_count == 0)
		selection->start_ns = 0;
	selection->filtered = threads || range;
	if (threads)
		rc = select_threads(selection, profile, threads, err);
	if (rc == 0 && range)
		rc = select_time(selection, range, err);
	if (rc < 0) {
		selection_done(selection);
		return rc;
	}
	for (uint32_t i = 0; i < profile->sample_count; i++)
		selection->samples += selection_has(selection, &profile->samples[i]);
	return 0;
}

void selection_done(struct selection *selection)
{
	free(selection->threads);
	selection->threads = NULL;
}

/*
 * The scenario's text: lines into words, words into values, and the lines before `start`.
 */
#include "softperf/machine_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int words_fail(const struct words *words, struct error *err, const char *what)
{
	return error_set(err, -EINVAL, "line %u (%s): %s", words->line, words->at[0], what);
}

static int words_split(struct words *words, struct error *err)
{
	char *save = NULL;

	words->count = 0;
	words->at[0] = "";
	for (char *word = strtok_r(words->text, " \t\r", &save); word;
		word = strtok_r(NULL, " \t\r", &save)) {
		if (words->count == WORDS_MAX)
			return words_fail(words, err, "too many words");
		words->at[words->count++] = word;
	}
	return 0;
}

int words_next(struct reader *reader, struct words *ret_words, struct error *err)
{
	while (reader->at < reader->len) {
		const char *line = reader->text + reader->at;
		size_t left = reader->len - reader->at;
		const char *end = memchr(line, '\n', left), *comment;
		size_t len = end ? (size_t)(end - line) : left;

		reader->at += len + (end != NULL);
		ret_words->line = ++reader->line;
		comment = memchr(line, '#', len);
		if (comment)
			len = (size_t)(comment - line);
		if (len >= sizeof(ret_words->text))
			return error_set(err, -EINVAL, "line %u is too long", reader->line);
		memcpy(ret_words->text, line, len);
		ret_words->text[len] = '\0';
		if (words_split(ret_words, err) < 0)
			return -EINVAL;
		if (ret_words->count)
			return 1;
	}
	return 0;
}

/* Decimal, or hexadecimal behind 0x; *ret_rest: what follows. */
static int number(const char *text, const char **ret_rest, uint64_t *ret_value)
{
	bool hex = text[0] == '0' && text[1] == 'x';
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	*ret_value = strtoull(text, &end, hex ? 16 : 10);
	*ret_rest = end;
	return errno ? -EINVAL : 0;
}

int word_number(const struct words *words, uint32_t i, uint64_t most, uint64_t *ret_value,
	struct error *err)
{
	const char *rest;

	if (i >= words->count)
		return words_fail(words, err, "a number is missing");
	if (number(words->at[i], &rest, ret_value) < 0 || *rest || *ret_value > most)
		return error_set(err, -EINVAL, "line %u (%s): %s is no number up to %llu",
			words->line, words->at[0], words->at[i], (unsigned long long)most);
	return 0;
}

int word_time(const struct words *words, uint32_t i, uint64_t *ret_ns, struct error *err)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	const char *unit;
	uint64_t n;

	if (i >= words->count)
		return words_fail(words, err, "a time is missing");
	if (number(words->at[i], &unit, &n) == 0)
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
			if (!strcmp(unit, units[u].name) &&
				n <= 3600000000000ull / units[u].ns) {
				*ret_ns = n * units[u].ns;
				return 0;
			}
	return error_set(err, -EINVAL, "line %u (%s): %s is no time like 10ms, up to an hour",
		words->line, words->at[0], words->at[i]);
}

static const struct symbol *symbol_find(
	const struct machine *machine, const char *name, size_t len)
{
	for (uint32_t i = 0; i < machine->symbol_count; i++)
		if (strlen(machine->symbols[i].name) == len &&
			!memcmp(machine->symbols[i].name, name, len))
			return &machine->symbols[i];
	return NULL;
}

int word_chain(const struct machine *machine, const struct words *words, uint32_t i,
	uint64_t *ret_chain, uint32_t *ret_depth, struct error *err)
{
	const char *at = i < words->count ? words->at[i] : "";
	uint64_t outermost_first[CORE_CHAIN_MAX];
	uint32_t depth = 0;

	if (!*at)
		return words_fail(words, err, "a call chain like main;work is missing");
	while (*at) {
		size_t len = strcspn(at, ";");
		const struct symbol *symbol = symbol_find(machine, at, len);

		if (!symbol || depth == CORE_CHAIN_MAX)
			return error_set(err, -EINVAL,
				"line %u (%s): %.*s is no `code`, or the "
				"chain is too long",
				words->line, words->at[0], (int)len, at);
		at += len;
		/* Somewhere inside: behind a call, where there is a callee. */
		outermost_first[depth++] = symbol->addr + (*at ? symbol->size / 2 : 0);
		at += *at == ';';
	}
	for (uint32_t n = 0; n < depth; n++)
		ret_chain[n] = outermost_first[depth - 1 - n];
	*ret_depth = depth;
	return 0;
}

/* ---- lines before `start` */

static int copy_word(
	const struct words *words, uint32_t i, char *to, size_t cap, struct error *err)
{
	size_t len = i < words->count ? strlen(words->at[i]) : 0;

	if (!len || len >= cap)
		return words_fail(words, err, "a name is missing, or too long");
	memcpy(to, words->at[i], len + 1);
	return 0;
}

static int event_kind(const char *name, struct perf_event_attr *attr)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} known[] = {
		{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
		{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
		{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
		{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name)) {
			attr->type = known[i].type;
			attr->config = known[i].config;
			return 0;
		}
	return -EINVAL;
}

/* event NAME freq|period N [user] */
static int setup_event(struct machine *machine, const struct words *words, struct error *err)
{
	struct machine_event *event;
	int rc;

	if (machine->event_count == MACHINE_EVENTS_MAX)
		return words_fail(words, err, "too many events");
	event = &machine->events[machine->event_count];
	rc = copy_word(words, 1, event->name, sizeof(event->name), err);
	if (rc < 0)
		return rc;
	if (event_kind(event->name, &event->attr) < 0)
		return words_fail(words, err, "there is no such event");
	rc = word_number(words, 3, INT64_MAX, &event->attr.sample_period, err);
	if (rc < 0)
		return rc;
	if (!strcmp(words->at[2], "freq"))
		event->attr.flags |= ATTR_FREQ;
	else if (strcmp(words->at[2], "period") != 0)
		return words_fail(words, err, "freq or period must follow the event");
	if (!event->attr.sample_period)
		return words_fail(words, err, "0 would not sample");
	if (words->count > 4 && !strcmp(words->at[4], "user"))
		event->attr.flags |= ATTR_EXCLUDE_KERNEL;
	machine->event_count++;
	return 0;
}

/* code NAME ADDR [SIZE] */
static int setup_code(struct machine *machine, const struct words *words, struct error *err)
{
	struct symbol *symbol;
	int rc;

	if (machine->symbol_count == SYMBOLS_MAX)
		return words_fail(words, err, "too many functions");
	symbol = &machine->symbols[machine->symbol_count];
	symbol->size = 64;
	rc = copy_word(words, 1, symbol->name, sizeof(symbol->name), err);
	if (rc == 0)
		rc = word_number(words, 2, UINT64_MAX, &symbol->addr, err);
	if (rc == 0 && words->count > 3)
		rc = word_number(words, 3, UINT32_MAX, &symbol->size, err);
	if (rc == 0)
		machine->symbol_count++;
	return rc;
}

/* process PID COMM */
static int setup_process(struct machine *machine, const struct words *words, struct error *err)
{
	uint32_t n = machine->process_count;
	uint64_t pid = 0;
	int rc;

	if (n == sizeof(machine->processes) / sizeof(machine->processes[0]))
		return words_fail(words, err, "too many processes");
	rc = word_number(words, 1, 1 << 22, &pid, err);
	if (rc == 0)
		rc = copy_word(words, 2, machine->processes[n].comm,
			sizeof(machine->processes[n].comm), err);
	machine->processes[n].pid = (int32_t)pid;
	if (rc == 0)
		machine->process_count++;
	return rc;
}

/* pmu COUNTERS [INSTRUCTIONS_PER_1000_CYCLES] */
static int setup_pmu(struct machine *machine, const struct words *words, struct error *err)
{
	uint64_t counters = 0, instructions = 1000;
	int rc = word_number(words, 1, ARMV8_COUNTERS, &counters, err);

	if (rc == 0 && words->count > 2)
		rc = word_number(words, 2, 100000, &instructions, err);
	machine->has_pmu = true;
	machine->pmu.counters = (uint32_t)counters;
	machine->pmu.instructions_per_1000 = (uint32_t)instructions;
	return rc;
}

/* record all | PID [on-exec] */
static int setup_record(struct machine *machine, const struct words *words, struct error *err)
{
	uint64_t pid = 0;
	int rc = 0;

	if (words->count < 2 || strcmp(words->at[1], "all") != 0)
		rc = word_number(words, 1, 1 << 22, &pid, err);
	machine->record_pid = (int32_t)pid;
	machine->on_exec = words->count > 2 && !strcmp(words->at[2], "on-exec");
	return rc;
}

static int setup_pages(struct machine *machine, const struct words *words, struct error *err)
{
	uint64_t pages = 0;
	int rc = word_number(words, 1, 4096, &pages, err);

	if (rc == 0 && (!pages || pages & (pages - 1)))
		return words_fail(words, err, "a ring has a power of two of pages");
	machine->pages = pages;
	return rc;
}

static int setup_copy_time(
	struct machine *machine, const struct words *words, struct error *err)
{
	return word_time(words, 1, &machine->options.copy_ns, err);
}

static int setup_overwrite(
	struct machine *machine, const struct words *words, struct error *err)
{
	if (words->count > 1)
		return words_fail(words, err, "nothing follows");
	machine->overwrite = true;
	return 0;
}

int machine_setup(struct machine *machine, const struct words *words, struct error *err)
{
	static const struct {
		const char *name;
		int (*setup)(
			struct machine *machine, const struct words *words, struct error *err);
	} lines[] = {
		{"event", setup_event},
		{"code", setup_code},
		{"process", setup_process},
		{"pmu", setup_pmu},
		{"record", setup_record},
		{"pages", setup_pages},
		{"copy-time", setup_copy_time},
		{"overwrite", setup_overwrite},
		{"stack", memory_setup},
	};
	const char *what = words->at[0];
	uint64_t value = 0;
	int rc;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strcmp(what, lines[i].name))
			return lines[i].setup(machine, words, err);
	rc = word_number(words, 1, INT64_MAX, &value, err);
	if (rc < 0)
		return rc;
	if (!strcmp(what, "cpus") && value && value <= CORE_CPUS_MAX)
		machine->options.cpus = (uint32_t)value;
	else if (!strcmp(what, "mhz") && value && value <= 100000)
		machine->pmu.cpu_mhz = value;
	else if (!strcmp(what, "tick") && value && value <= 10000)
		machine->options.tick_hz = (uint32_t)value;
	else if (!strcmp(what, "max-rate") && value)
		machine->options.max_sample_rate = value;
	else if (!strcmp(what, "clock"))
		machine->options.start_ns = value;
	else
		return words_fail(words, err, "not understood before `start`");
	return 0;
}

/*
 * wick sim: a whole recording out of the simulated kernel, and what happens to one sample.
 *
 * --explain prints what the core tells until the first sample has been drained; the rest of the
 * scenario is played in silence.
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "cli/command.h"
#include "session/simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO_BYTES_MAX = 16 << 20 };

struct sim_options {
	const char *output;
	bool explain;
};

struct narration {
	bool preparing, written; /* the first sample */
	bool sampled, quiet, over;
};

/* For --explain on its own: one CPU, a PMU with cycles, a program of three functions. */
static const char explained[] = "cpus 1\n"
				"mhz 1000\n"
				"pmu 6 1500\n"
				"pages 1\n"
				"event cycles period 1000000\n"
				"code main 0x401000\n"
				"code work 0x401100\n"
				"code leaf 0x401200\n"
				"process 100 demo\n"
				"start\n"
				"on 0 100\n"
				"exec 100 demo\n"
				"map 100 0x400000 0x10000 0 /bin/demo\n"
				"cpu 0 user main;work;leaf\n"
				"run 12ms\n"
				"exit 100\n";

CLI_SET_TEXT(set_output, struct sim_options, output)
CLI_SET_FLAG(set_explain, struct sim_options, explain)

static const struct cli_option sim_table[] = {
	{'o', "output", "FILE", "the recording; default perf.data", set_output},
	{0, "explain", NULL,
		"say what happens to the first sample, from its opening to the reader; "
		"without -o nothing is recorded",
		set_explain},
	{0, NULL, NULL, NULL, NULL},
};

static int sim_main(int argc, char **argv);

const struct cli_command cli_sim = {
	.name = "sim",
	.summary = "a whole recording out of a simulated kernel",
	.synopsis = "[options] SCENARIO",
	.description =
		"Plays a scenario, a text that says what CPUs, processes and functions there "
		"are and what they do, on a model of the kernel's perf events in user space, "
		"and "
		"records it as a real one: the file is the same, byte for byte, each time. "
		"docs/HOW-PERF-WORKS.md describes the language.\n\n"
		"With --explain it tells the way of one sample: the event is opened and finds "
		"its "
		"PMU, gets a ring and a counter, overflows and interrupts, is written and "
		"read. "
		"SCENARIO may be left out then.",
	.options = sim_table,
	.run = sim_main,
};

static void say(const char *who, uint64_t ns, const char *text)
{
	uint64_t us = ns / 1000;

	printf("%-10s %4llu.%03llu ms  %s\n", who, (unsigned long long)(us / 1000),
		(unsigned long long)(us % 1000), text);
}

/* Behind the first sample the others go the same way: silence, until the reader is woken. */
static void narrate(void *ctx, uint64_t ns, const char *who, const char *text)
{
	struct narration *narration = ctx;
	bool reader = !strcmp(who, "wakeup") || !strcmp(who, "poll") || !strcmp(who, "drain");
	bool prepared = !strcmp(who, "prepare") && !strncmp(text, "SAMPLE", 6);

	if (narration->over)
		return;
	narration->written |= narration->preparing && !strcmp(who, "write");
	narration->preparing |= prepared;
	if (narration->sampled && !reader) {
		narration->quiet = true;
		return;
	}
	if (narration->quiet)
		say("...", ns, "more samples have taken the same way");
	narration->quiet = false;
	say(who, ns, text);
	narration->sampled = narration->written;
	narration->over = narration->sampled && !strcmp(who, "drain");
}

static int simulate(const struct sim_options *sim, const char *path)
{
	struct narration narration = {.over = false};
	struct simulate_options options = {
		.scenario = explained, .scenario_bytes = sizeof(explained) - 1};
	cleanup_with(strbuf_done) struct strbuf text = {0};
	struct simulated simulated;
	struct error err = {.text = ""};
	int rc;

	if (path) {
		rc = file_read(AT_FDCWD, path, SCENARIO_BYTES_MAX, &text);
		if (rc < 0)
			return cli_fail("%s: %s", path, strerror(-rc));
		options.scenario = strbuf_text(&text);
		options.scenario_bytes = text.len;
	}
	options.output = sim->output || sim->explain ? sim->output : "perf.data";
	if (sim->explain) {
		options.trace = narrate;
		options.ctx = &narration;
	}
	rc = simulate_run(&options, &simulated, &err);
	if (rc == 0 && options.output)
		cli_say("%llu samples, %llu wakeups, %llu lost: %s",
			(unsigned long long)simulated.profile.quality.samples,
			(unsigned long long)simulated.wakeups,
			(unsigned long long)simulated.profile.quality.lost_read,
			options.output);
	simulated_done(&simulated);
	if (rc < 0)
		return cli_fail("%s%s%s", path ? path : "the simulation",
			path ? ": " : " failed: ", err.text[0] ? err.text : strerror(-rc));
	return cli_finish_stdout();
}

static int sim_main(int argc, char **argv)
{
	struct sim_options options = {.output = NULL};
	int operands, rc = cli_parse(&cli_sim, argc, argv, &options, &operands);

	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	if (operands > 1 || (!operands && !options.explain)) {
		cli_fail("one scenario is wanted; see `wick sim --help`");
		return EXIT_USAGE;
	}
	return simulate(&options, operands ? argv[1] : NULL);
}

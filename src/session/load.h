/*
 * A perf.data file into a profile: container -> records -> order -> apply -> names.
 */
#pragma once

#include "base/error.h"
#include "profile/excerpts.h"
#include "profile/profile.h"
#include "session/downloads.h"
#include "session/resolve.h"

#include <stdbool.h>
#include <stdint.h>

struct load_options {
	const char *path;    /* "-": standard input */
	const char *sysroot; /* files are looked for below it; NULL: / */
	bool no_names;	     /* leave the frames unresolved */
	bool no_inlines;     /* functions of the symbol tables only, no lines */
	bool no_demangle;
	/*
	 * Load the code of functions (loaded.excerpts), too: what the file brought, and what is
	 * missing out of the programs' files, where they are here. `wants_code` says of which
	 * functions; NULL: the hot ones.
	 */
	bool code;
	bool (*wants_code)(void *ctx, const struct profile *profile, uint32_t function);
	void *code_ctx;
	const char *debug_dir; /* searched for debug files first; NULL: none */
	const struct downloads_options *downloads; /* NULL: nothing is fetched */
	const char *copy_to; /* write a copy of the recording with its names there; NULL: no */
	/* In place of storing samples, in the order of time; the names of its frames are
	 * resolved. */
	int (*on_sample)(void *ctx, const struct profile *profile, const struct sample *sample);
	void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
	void *ctx;
};

struct loaded {
	struct profile profile;
	struct excerpts excerpts;      /* with options.code */
	struct error code_error;       /* why the code that the file brought was left out; "" */
	struct module_naming *namings; /* of all modules; empty with on_sample */
	uint32_t naming_count;
	struct module_note *notes; /* what is wrong with modules; empty with on_sample */
	uint32_t note_count;
	char **cmdline; /* of the recorder; may be NULL */
	uint32_t cmdline_count;
	char *hostname, *osrelease, *arch; /* may be NULL */
	uint64_t wall_clock_offset_ns; /* add to a sample's time for the time of day; 0: unknown
					*/
};

/* A file that is cut or damaged gives what is in it; quality.truncated_at says so. */
int load_file(const struct load_options *options, struct loaded *ret_loaded, struct error *err);
void loaded_done(struct loaded *loaded); /* takes a zeroed struct, too */

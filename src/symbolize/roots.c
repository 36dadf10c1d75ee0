/*
 * First functions of a stack, and the sentences about modules.
 *
 * Which names end a complete stack: the entry of a program (_start of the C library or of the
 * dynamic linker's own start), of a thread (glibc's and musl's clone), of a coroutine
 * (__start_context), of a goroutine or Go's scheduler threads, and of a kernel thread or a
 * forked task (ret_from_fork).
 */
#include "symbolize/symbolize.h"

#include "base/cleanup.h"

#include <string.h>

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

bool symbol_is_root(const char *linkage_name)
{
	static const char *const exact[] = {"_start", "_dl_start_user", "__clone", "clone",
		"__clone3", "clone3", "__start_context", "thread_start", "runtime.goexit",
		"runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0",
		"runtime.rt0_go", "runtime.rt0_go.abi0", "ret_from_fork", "ret_from_fork_asm"};
	static const char *const begins[] = {"_rt0_amd64", "_rt0_arm64"};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (!strncmp(linkage_name, begins[i], strlen(begins[i])))
			return true;
	return is_one_of(linkage_name, exact, ARRAY_LEN(exact));
}

bool symbol_is_start(const char *linkage_name)
{
	/* glibc since 2.34, the same before that, musl; threads of both,. */
	static const char *const names[] = {"__libc_start_call_main", "__libc_start_main",
		"__libc_start_main_impl", "generic_start_main", "libc_start_main_stage2",
		"_start_c", "start_thread", "_dl_start"};

	return symbol_is_root(linkage_name) || is_one_of(linkage_name, names, ARRAY_LEN(names));
}

const char *module_outcome_text(enum module_outcome outcome)
{
	switch (outcome) {
	case MODULE_NAMED:
		return "";
	case MODULE_NOT_TRIED:
		return "not looked at: none of its frames was named";
	case MODULE_DYNSYM_ONLY:
		return "stripped: only exported functions have names; install its debug "
		       "symbols "
		       "(the -dbgsym or -debuginfo package) for the rest, or try "
		       "--debuginfod";
	case MODULE_NO_SYMBOLS:
		return "stripped of all names; install its debug symbols (the -dbgsym or "
		       "-debuginfo package), try --debuginfod, or build it without -s";
	case MODULE_FILE_MISSING:
		return "the file is gone or cannot be read; report on the machine it was "
		       "recorded "
		       "on, as the same user or root";
	case MODULE_FILE_CHANGED:
		return "the file is not the one that was recorded (another build id or inode), "
		       "so "
		       "its names were not used; record again";
	case MODULE_FILE_BROKEN:
		return "not an ELF file, or a damaged one";
	case MODULE_HIDDEN:
		return "kernel names are hidden, or this is another kernel than the recorded "
		       "one; as "
		       "root: sysctl kernel.kptr_restrict=0 (and kernel.perf_event_paranoid=1)";
	case MODULE_NO_FILE:
		return "memory without a file (JIT code); names need a perf map "
		       "(/tmp/perf-PID.map) of the program";
	case MODULE_MAP_CUT:
		return "JIT code whose perf map is larger than what is read of one (10 million "
		       "lines, 1 GiB); a jitdump has no such limit of lines";
	case MODULE_MAP_BAD:
		return "JIT code whose perf map (/tmp/perf-PID.map) is damaged: most of its "
		       "lines are not START SIZE NAME";
	case MODULE_MAP_REFUSED:
		return "JIT code whose perf map (/tmp/perf-PID.map) is another user's, or was "
		       "left by an earlier process of the same number: not used";
	case MODULE_MAP_CLOSED:
		return "JIT code whose perf map (/tmp/perf-PID.map) cannot be read; report as "
		       "the same user or root";
	case MODULE_OUTCOMES:
		break;
	}
	return "";
}

/*
 * The perf_event ABI: constants and structs as the kernel has them
 * (include/uapi/linux/perf_event.h, Linux 6.19), under the names that everybody knows. The
 * distribution's header is older than the kernels that wick meets, so this one takes its place:
 * include it first, or instead.
 *
 * Where the kernel has bit fields we have masks (struct perf_event_attr.flags, ATTR_*): bit
 * fields cannot be read from a file of the other byte order, and C does not say where they lie.
 * The memory layout is the same.
 */
#pragma once

#ifdef _LINUX_PERF_EVENT_H
#error "include wick's perf_abi.h before <linux/perf_event.h>, or instead of it"
#endif
#define _LINUX_PERF_EVENT_H /* NOLINT: keeps the distribution's header out */

#include <stdint.h>
#include <sys/ioctl.h>

/* ---- perf_event_attr.type */
enum perf_type_id {
	PERF_TYPE_HARDWARE = 0,
	PERF_TYPE_SOFTWARE = 1,
	PERF_TYPE_TRACEPOINT = 2,
	PERF_TYPE_HW_CACHE = 3,
	PERF_TYPE_RAW = 4,
	PERF_TYPE_BREAKPOINT = 5,
	PERF_TYPE_MAX = 6, /* dynamic PMUs of sysfs start behind */
};

/* With PERF_TYPE_HARDWARE and HW_CACHE the upper half of config names the (core) PMU's type. */
#define PERF_PMU_TYPE_SHIFT 32

enum perf_hw_id {
	PERF_COUNT_HW_CPU_CYCLES = 0,
	PERF_COUNT_HW_INSTRUCTIONS = 1,
	PERF_COUNT_HW_CACHE_REFERENCES = 2,
	PERF_COUNT_HW_CACHE_MISSES = 3,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS = 4,
	PERF_COUNT_HW_BRANCH_MISSES = 5,
	PERF_COUNT_HW_BUS_CYCLES = 6,
	PERF_COUNT_HW_STALLED_CYCLES_FRONTEND = 7,
	PERF_COUNT_HW_STALLED_CYCLES_BACKEND = 8,
	PERF_COUNT_HW_REF_CPU_CYCLES = 9,
};

enum perf_sw_ids {
	PERF_COUNT_SW_CPU_CLOCK = 0,
	PERF_COUNT_SW_TASK_CLOCK = 1,
	PERF_COUNT_SW_PAGE_FAULTS = 2,
	PERF_COUNT_SW_CONTEXT_SWITCHES = 3,
	PERF_COUNT_SW_CPU_MIGRATIONS = 4,
	PERF_COUNT_SW_PAGE_FAULTS_MIN = 5,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ = 6,
	PERF_COUNT_SW_ALIGNMENT_FAULTS = 7,
	PERF_COUNT_SW_EMULATION_FAULTS = 8,
	PERF_COUNT_SW_DUMMY = 9,
	PERF_COUNT_SW_BPF_OUTPUT = 10,
	PERF_COUNT_SW_CGROUP_SWITCHES = 11,
};

/* ---- perf_event_attr.sample_type; the fields stand in a SAMPLE in the order of
 * sample_fields() */
#define PERF_SAMPLE_IP		   (1ull << 0)
#define PERF_SAMPLE_TID		   (1ull << 1)
#define PERF_SAMPLE_TIME	   (1ull << 2)
#define PERF_SAMPLE_ADDR	   (1ull << 3)
#define PERF_SAMPLE_READ	   (1ull << 4)
#define PERF_SAMPLE_CALLCHAIN	   (1ull << 5)
#define PERF_SAMPLE_ID		   (1ull << 6)
#define PERF_SAMPLE_CPU		   (1ull << 7)
#define PERF_SAMPLE_PERIOD	   (1ull << 8)
#define PERF_SAMPLE_STREAM_ID	   (1ull << 9)
#define PERF_SAMPLE_RAW		   (1ull << 10)
#define PERF_SAMPLE_BRANCH_STACK   (1ull << 11)
#define PERF_SAMPLE_REGS_USER	   (1ull << 12)
#define PERF_SAMPLE_STACK_USER	   (1ull << 13)
#define PERF_SAMPLE_WEIGHT	   (1ull << 14)
#define PERF_SAMPLE_DATA_SRC	   (1ull << 15)
#define PERF_SAMPLE_IDENTIFIER	   (1ull << 16)
#define PERF_SAMPLE_TRANSACTION	   (1ull << 17)
#define PERF_SAMPLE_REGS_INTR	   (1ull << 18)
#define PERF_SAMPLE_PHYS_ADDR	   (1ull << 19)
#define PERF_SAMPLE_AUX		   (1ull << 20)
#define PERF_SAMPLE_CGROUP	   (1ull << 21)
#define PERF_SAMPLE_DATA_PAGE_SIZE (1ull << 22)
#define PERF_SAMPLE_CODE_PAGE_SIZE (1ull << 23)
#define PERF_SAMPLE_WEIGHT_STRUCT  (1ull << 24)
#define PERF_SAMPLE_MAX		   (1ull << 25)

/* ---- perf_event_attr.branch_sample_type */
#define PERF_SAMPLE_BRANCH_USER	    (1ull << 0)
#define PERF_SAMPLE_BRANCH_KERNEL   (1ull << 1)
#define PERF_SAMPLE_BRANCH_HV	    (1ull << 2)
#define PERF_SAMPLE_BRANCH_ANY	    (1ull << 3)
#define PERF_SAMPLE_BRANCH_HW_INDEX (1ull << 17)
#define PERF_SAMPLE_BRANCH_COUNTERS (1ull << 19)

/* ---- perf_event_attr.read_format */
#define PERF_FORMAT_TOTAL_TIME_ENABLED (1ull << 0)
#define PERF_FORMAT_TOTAL_TIME_RUNNING (1ull << 1)
#define PERF_FORMAT_ID		       (1ull << 2)
#define PERF_FORMAT_GROUP	       (1ull << 3)
#define PERF_FORMAT_LOST	       (1ull << 4)

/* ---- perf_event_attr.flags: the kernel's bit fields, from bit 0 */
#define ATTR_DISABLED		      (1ull << 0)
#define ATTR_INHERIT		      (1ull << 1)
#define ATTR_PINNED		      (1ull << 2)
#define ATTR_EXCLUSIVE		      (1ull << 3)
#define ATTR_EXCLUDE_USER	      (1ull << 4)
#define ATTR_EXCLUDE_KERNEL	      (1ull << 5)
#define ATTR_EXCLUDE_HV		      (1ull << 6)
#define ATTR_EXCLUDE_IDLE	      (1ull << 7)
#define ATTR_MMAP		      (1ull << 8)
#define ATTR_COMM		      (1ull << 9)
#define ATTR_FREQ		      (1ull << 10)
#define ATTR_INHERIT_STAT	      (1ull << 11)
#define ATTR_ENABLE_ON_EXEC	      (1ull << 12)
#define ATTR_TASK		      (1ull << 13)
#define ATTR_WATERMARK		      (1ull << 14)
#define ATTR_PRECISE_IP_SHIFT	      15 /* two bits */
#define ATTR_MMAP_DATA		      (1ull << 17)
#define ATTR_SAMPLE_ID_ALL	      (1ull << 18)
#define ATTR_EXCLUDE_HOST	      (1ull << 19)
#define ATTR_EXCLUDE_GUEST	      (1ull << 20)
#define ATTR_EXCLUDE_CALLCHAIN_KERNEL (1ull << 21)
#define ATTR_EXCLUDE_CALLCHAIN_USER   (1ull << 22)
#define ATTR_MMAP2		      (1ull << 23)
#define ATTR_COMM_EXEC		      (1ull << 24)
#define ATTR_USE_CLOCKID	      (1ull << 25)
#define ATTR_CONTEXT_SWITCH	      (1ull << 26)
#define ATTR_WRITE_BACKWARD	      (1ull << 27)
#define ATTR_NAMESPACES		      (1ull << 28)
#define ATTR_KSYMBOL		      (1ull << 29)
#define ATTR_BPF_EVENT		      (1ull << 30)
#define ATTR_AUX_OUTPUT		      (1ull << 31)
#define ATTR_CGROUP		      (1ull << 32)
#define ATTR_TEXT_POKE		      (1ull << 33)
#define ATTR_BUILD_ID		      (1ull << 34)
#define ATTR_INHERIT_THREAD	      (1ull << 35)
#define ATTR_REMOVE_ON_EXEC	      (1ull << 36)
#define ATTR_SIGTRAP		      (1ull << 37)
#define ATTR_DEFER_CALLCHAIN	      (1ull << 38)
#define ATTR_DEFER_OUTPUT	      (1ull << 39)

struct perf_event_attr {
	uint32_t type;
	uint32_t size;
	uint64_t config;
	uint64_t sample_period; /* or the frequency in Hz, with ATTR_FREQ */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint32_t wakeup_events; /* or the watermark in bytes, with ATTR_WATERMARK */
	uint32_t bp_type;
	uint64_t config1;
	uint64_t config2; /* 72 bytes up to here (ATTR_SIZE_VER1) */
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack;
	uint16_t reserved_2;
	uint32_t aux_sample_size;
	uint32_t aux_action;
	uint64_t sig_data;
	uint64_t config3; /* 136 bytes up to here (ATTR_SIZE_VER8) */
	uint64_t config4;
};

#define PERF_ATTR_SIZE_VER0 64
#define PERF_ATTR_SIZE_VER5 112
#define PERF_ATTR_SIZE_VER6 120
#define PERF_ATTR_SIZE_VER7 128
#define PERF_ATTR_SIZE_VER8 136
#define PERF_ATTR_SIZE_VER9 144

_Static_assert(sizeof(struct perf_event_attr) == PERF_ATTR_SIZE_VER9, "the kernel's layout");

/* ---- ioctls on an event, and the flags of perf_event_open() */
#define PERF_EVENT_IOC_ENABLE	    _IO('$', 0)
#define PERF_EVENT_IOC_DISABLE	    _IO('$', 1)
#define PERF_EVENT_IOC_REFRESH	    _IO('$', 2)
#define PERF_EVENT_IOC_RESET	    _IO('$', 3)
#define PERF_EVENT_IOC_PERIOD	    _IOW('$', 4, uint64_t)
#define PERF_EVENT_IOC_SET_OUTPUT   _IO('$', 5)
#define PERF_EVENT_IOC_SET_FILTER   _IOW('$', 6, char *)
#define PERF_EVENT_IOC_ID	    _IOR('$', 7, uint64_t *)
#define PERF_EVENT_IOC_SET_BPF	    _IOW('$', 8, uint32_t)
#define PERF_EVENT_IOC_PAUSE_OUTPUT _IOW('$', 9, uint32_t)

#define PERF_IOC_FLAG_GROUP   1u
#define PERF_FLAG_FD_NO_GROUP (1ul << 0)
#define PERF_FLAG_FD_OUTPUT   (1ul << 1)
#define PERF_FLAG_PID_CGROUP  (1ul << 2)
#define PERF_FLAG_FD_CLOEXEC  (1ul << 3)

/* ---- the first page of a ring's mapping; head and tail only with acquire and release */
struct perf_event_mmap_page {
	uint32_t version;
	uint32_t compat_version;
	uint32_t lock;
	uint32_t index;
	int64_t offset;
	uint64_t time_enabled;
	uint64_t time_running;
	uint64_t capabilities;
	uint16_t pmc_width;
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_offset;
	uint64_t time_zero;
	uint32_t size;
	uint32_t reserved_1;
	uint64_t time_cycles;
	uint64_t time_mask;
	uint8_t reserved[116 * 8];
	uint64_t data_head;   /* at byte 1024; the kernel writes, we acquire */
	uint64_t data_tail;   /* we release */
	uint64_t data_offset; /* where the data pages start, 4.1 and later */
	uint64_t data_size;
	uint64_t aux_head;
	uint64_t aux_tail;
	uint64_t aux_offset;
	uint64_t aux_size;
};

_Static_assert(__builtin_offsetof(struct perf_event_mmap_page, data_head) == 1024, "layout");

/* ---- records */
struct perf_event_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* with this header; a multiple of 8 */
};

enum perf_event_type {
	PERF_RECORD_MMAP = 1,
	PERF_RECORD_LOST = 2,
	PERF_RECORD_COMM = 3,
	PERF_RECORD_EXIT = 4,
	PERF_RECORD_THROTTLE = 5,
	PERF_RECORD_UNTHROTTLE = 6,
	PERF_RECORD_FORK = 7,
	PERF_RECORD_READ = 8,
	PERF_RECORD_SAMPLE = 9,
	PERF_RECORD_MMAP2 = 10,
	PERF_RECORD_AUX = 11,
	PERF_RECORD_ITRACE_START = 12,
	PERF_RECORD_LOST_SAMPLES = 13,
	PERF_RECORD_SWITCH = 14,
	PERF_RECORD_SWITCH_CPU_WIDE = 15,
	PERF_RECORD_NAMESPACES = 16,
	PERF_RECORD_KSYMBOL = 17,
	PERF_RECORD_BPF_EVENT = 18,
	PERF_RECORD_CGROUP = 19,
	PERF_RECORD_TEXT_POKE = 20,
	PERF_RECORD_AUX_OUTPUT_HW_ID = 21,
	PERF_RECORD_CALLCHAIN_DEFERRED = 22,
	PERF_RECORD_MAX = 23,
};

#define PERF_RECORD_MISC_CPUMODE_MASK		7u
#define PERF_RECORD_MISC_CPUMODE_UNKNOWN	0u
#define PERF_RECORD_MISC_KERNEL			1u
#define PERF_RECORD_MISC_USER			2u
#define PERF_RECORD_MISC_HYPERVISOR		3u
#define PERF_RECORD_MISC_GUEST_KERNEL		4u
#define PERF_RECORD_MISC_GUEST_USER		5u
#define PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT (1u << 12)
#define PERF_RECORD_MISC_MMAP_DATA		(1u << 13) /* MMAP, MMAP2: not executable */
#define PERF_RECORD_MISC_COMM_EXEC		(1u << 13) /* COMM: by exec */
#define PERF_RECORD_MISC_FORK_EXEC		(1u << 13) /* FORK, by perf itself: no maps are shared */
#define PERF_RECORD_MISC_SWITCH_OUT		(1u << 13) /* SWITCH: the thread leaves the CPU */
#define PERF_RECORD_MISC_EXACT_IP		(1u << 14) /* SAMPLE */
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT	(1u << 14)
#define PERF_RECORD_MISC_MMAP_BUILD_ID                                                         \
	(1u << 14) /* MMAP2: a build id in place of the inode                                  \
		    */

/* Markers in a callchain: what follows is of this kind. Everything from PERF_CONTEXT_MAX up. */
#define PERF_CONTEXT_HV		   ((uint64_t)-32)
#define PERF_CONTEXT_KERNEL	   ((uint64_t)-128)
#define PERF_CONTEXT_USER	   ((uint64_t)-512)
#define PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define PERF_CONTEXT_GUEST	   ((uint64_t)-2048)
#define PERF_CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define PERF_CONTEXT_GUEST_USER	   ((uint64_t)-2560)
#define PERF_CONTEXT_MAX	   ((uint64_t)-4095)

#define PERF_SAMPLE_REGS_ABI_NONE 0u
#define PERF_SAMPLE_REGS_ABI_32	  1u
#define PERF_SAMPLE_REGS_ABI_64	  2u

#define PERF_RECORD_KSYMBOL_TYPE_BPF	     1u
#define PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER 1u

/* ---- records that exist in perf.data only (tools/perf/util/event.h in the kernel's tree) */
enum perf_user_event_type {
	PERF_RECORD_USER_TYPE_START = 64,
	PERF_RECORD_HEADER_ATTR = 64,
	PERF_RECORD_HEADER_EVENT_TYPE = 65,
	PERF_RECORD_HEADER_TRACING_DATA = 66,
	PERF_RECORD_HEADER_BUILD_ID = 67,
	PERF_RECORD_FINISHED_ROUND = 68,
	PERF_RECORD_ID_INDEX = 69,
	PERF_RECORD_AUXTRACE_INFO = 70,
	PERF_RECORD_AUXTRACE = 71,
	PERF_RECORD_AUXTRACE_ERROR = 72,
	PERF_RECORD_THREAD_MAP = 73,
	PERF_RECORD_CPU_MAP = 74,
	PERF_RECORD_STAT_CONFIG = 75,
	PERF_RECORD_STAT = 76,
	PERF_RECORD_STAT_ROUND = 77,
	PERF_RECORD_EVENT_UPDATE = 78,
	PERF_RECORD_TIME_CONV = 79,
	PERF_RECORD_HEADER_FEATURE = 80,
	PERF_RECORD_COMPRESSED = 81,
	PERF_RECORD_FINISHED_INIT = 82,
	PERF_RECORD_COMPRESSED2 = 83,
};

/* The size of a record is a u16. */
#define PERF_RECORD_SIZE_MAX 65535u

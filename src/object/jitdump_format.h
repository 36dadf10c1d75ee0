/* The numbers of jitdumps, for their two readers. */
#pragma once

enum {
	JITDUMP_MAGIC = 0x4A695444,
	JITDUMP_HEADER_SIZE = 40,
	JITDUMP_PREFIX_SIZE = 16, /* of every record: id, size, time */
	JITDUMP_FLAG_ARCH_TIME = 1,
};

enum jitdump_record {
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_DEBUG_INFO,
	JITDUMP_CLOSE,
	JITDUMP_UNWINDING_INFO,
};

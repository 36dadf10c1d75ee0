/* All commands, in the order in which `wick --help` and wick(1) show them. */
#include "cli/command.h"

#include <stddef.h>

const struct cli_command *const cli_commands[] = {
	&cli_record,
	&cli_report,
	&cli_annotate,
	&cli_view,
	&cli_diff,
	&cli_script,
	&cli_export,
	&cli_list,
	&cli_doctor,
	&cli_sim,
	NULL,
};

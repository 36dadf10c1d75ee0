/*
 * usage: brief MSEC      begins a file "began", burns MSEC of CPU time, ends with a file "done"
 */
#include "../../live/programs/truth.h"

#include <fcntl.h>
#include <unistd.h>

BURN(burn_brief)

int main(int argc, char **argv)
{
	struct part part = {"burn_brief", burn_brief, 1, 0};

	if (argc < 2)
		return 2;
	close(open("began", O_CREAT | O_WRONLY, 0666));
	run_parts(&part, 1, strtoull(argv[1], NULL, 10) * 1000000u);
	close(open("done", O_CREAT | O_WRONLY, 0666));
	return 0;
}

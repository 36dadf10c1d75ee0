/*
 * usage: dlopens ROUNDS MSEC A.so B.so
 *
 * Loads A, burns in its work_a, unloads it, loads B where A was, burns in work_b, and so on.
 */
#include "truth.h"

#include <dlfcn.h>

static void *burn_in(const char *path, struct part *part, uint64_t budget_ns)
{
	void *library = dlopen(path, RTLD_NOW), *address;

	if (!library || !(address = dlsym(library, part->name))) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	memcpy(&part->burn, &address, sizeof(address));
	run_parts(part, 1, budget_ns);
	dlclose(library);
	return address;
}

int main(int argc, char **argv)
{
	struct part a = {"work_a", NULL, 50, 0}, b = {"work_b", NULL, 50, 0};
	int rounds = atoi(argv[1]), same = 0;
	uint64_t budget_ns = strtoull(argv[2], NULL, 10) * 1000000u;

	(void)argc;
	for (int i = 0; i < rounds; i++) {
		void *first = burn_in(argv[3], &a, budget_ns);
		void *second = burn_in(argv[4], &b, 2 * budget_ns);

		same += first == second;
	}
	printf("{\"work_a\": %llu, \"work_b\": %llu, \"same\": %d, \"rounds\": %d}\n",
		(unsigned long long)a.cpu_ns, (unsigned long long)b.cpu_ns, same, rounds);
	return 0;
}

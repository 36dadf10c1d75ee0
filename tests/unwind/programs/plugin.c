/* What stacks.c loads. */
void plugin_call(void (*fn)(void));
static volatile int after;

__attribute__((noinline)) static void plugin_inner(void (*fn)(void))
{
	char pad[100];
	pad[after] = 1;
	fn();
	after += pad[after];
}

__attribute__((visibility("default"))) void plugin_call(void (*fn)(void))
{
	plugin_inner(fn);
	after++;
}

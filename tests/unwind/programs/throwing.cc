// Exceptions on their way up, and C++ code in general; as stacks.c.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned long sink;
static long spend_ms = 60;

static long long cpu_ns()
{
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct Guard {
	__attribute__((noinline)) ~Guard() { sink += 1; }
};

extern "C" {

__attribute__((noinline)) void work_throw(int n)
{
	Guard guard;
	if (n >= 0)
		throw std::runtime_error("n");
	sink += 2;
}

__attribute__((noinline)) void throw_mid(int n)
{
	std::string text = "a string that is too long for the small buffer";
	Guard guard;
	work_throw(n);
	sink += text.size();
}

__attribute__((noinline)) void throw_top()
{
	long long end = cpu_ns() + spend_ms * 1000000ll;
	int n = 0;
	while (cpu_ns() < end) {
		for (int i = 0; i < 100; i++) {
			try {
				throw_mid(n++ & 0xffff);
			} catch (const std::exception &e) {
				sink += static_cast<unsigned long>(e.what()[0]);
			}
		}
	}
}

__attribute__((noinline)) void work_lambda(const std::function<int(int)> &f)
{
	long long end = cpu_ns() + spend_ms * 1000000ll;
	while (cpu_ns() < end)
		for (int i = 0; i < 1000; i++)
			sink += static_cast<unsigned long>(f(i));
}

__attribute__((noinline)) void lambda_top()
{
	std::vector<int> v{1, 2, 3};
	work_lambda([&v](int i) { return v[static_cast<size_t>(i) % 3] + i; });
	sink += v.size();
}

__attribute__((noinline)) void work_containers()
{
	long long end = cpu_ns() + spend_ms * 1000000ll;
	while (cpu_ns() < end) {
		std::map<std::string, std::vector<int>> m;
		for (int i = 0; i < 300; i++)
			m[std::to_string(i * 7919 % 1000) + "abcdefghijklmnopqrstuvwxyz"].push_back(i);
		std::vector<std::string> keys;
		for (auto &p : m)
			keys.push_back(p.first);
		std::sort(keys.begin(), keys.end(),
			[](const std::string &a, const std::string &b) { return a > b; });
		sink += keys.size();
	}
}

__attribute__((noinline)) void containers_top()
{
	work_containers();
	sink += 1;
}

} // extern "C"

int main(int argc, char **argv)
{
	if (argc > 1)
		spend_ms = atol(argv[1]);
	throw_top();
	lambda_top();
	containers_top();
	return sink == 42;
}

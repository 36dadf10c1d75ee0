// Inlined functions of many kinds: templates, lambdas, anonymous namespaces, local classes, and
// what the standard library brings. It is never run, only looked at.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes {
template <class T> struct Box {
	T v;
	__attribute__((noinline)) T get(int n)
	{
		auto term = [&](T x) { return x * n + v; };
		T sum = 0;

		for (int i = 0; i < n; i++)
			sum += term(i);
		return sum;
	}
};

namespace {
inline int hidden(int a)
{
	return a * a + 7;
}

struct Quad {
	int z;
	int f(int k) { return hidden(k) + z; }
};
} // namespace

static inline __attribute__((always_inline)) double square(double x)
{
	return x * x;
}
} // namespace shapes

static bool shorter(const std::string &a, const std::string &b)
{
	return a.size() < b.size();
}

int main(int argc, char **)
{
	std::vector<std::string> words;
	std::map<std::string, int> counts;
	shapes::Box<double> box{2};
	shapes::Quad quad{argc};
	double total = 0;

	struct Local {
		int twice(int n) { return 2 * n + (int)printf("%d", n); }
	} local;
	for (int i = 0; i < argc * 2000; i++)
		words.push_back(std::to_string(i % 10007));
	std::sort(words.begin(), words.end(), shorter);
	for (auto &word : words)
		counts[word]++;
	for (auto &pair : counts)
		total += box.get(pair.second % 100) + quad.f(pair.second) +
			 shapes::square(pair.second) + local.twice(pair.second);
	printf("%g\n", total);
	return 0;
}

// The benchmark's target: two busy threads of ordinary C++ (trees, strings, sorting), with
// stacks of 5 to 25 frames.
//
// usage: two_threads [SECONDS]      each thread burns that much of its own CPU time (default 4)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

static double thread_cpu_s()
{
	timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct Random {
	uint64_t state;

	uint32_t next()
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return (uint32_t)(state >> 33);
	}
};

struct Node {
	uint32_t key;
	std::unique_ptr<Node> left, right;
};

__attribute__((noinline)) static std::unique_ptr<Node> insert_key(
	std::unique_ptr<Node> node, uint32_t key)
{
	if (!node) {
		node = std::make_unique<Node>();
		node->key = key;
	} else if (key < node->key) {
		node->left = insert_key(std::move(node->left), key);
	} else {
		node->right = insert_key(std::move(node->right), key);
	}
	return node;
}

__attribute__((noinline)) static uint64_t sum_tree(const Node *node, int depth)
{
	if (!node)
		return 0;
	return node->key * (uint64_t)depth + sum_tree(node->left.get(), depth + 1) +
	       sum_tree(node->right.get(), depth + 1);
}

__attribute__((noinline)) static uint64_t grow_tree(Random &random)
{
	std::unique_ptr<Node> root;

	for (int i = 0; i < 2000; i++)
		root = insert_key(std::move(root), random.next());
	return sum_tree(root.get(), 0);
}

__attribute__((noinline)) static uint64_t sort_words(Random &random)
{
	std::vector<std::string> words;
	uint64_t sum = 0;

	for (int i = 0; i < 2000; i++)
		words.push_back("word " + std::to_string(random.next() % 100000));
	std::sort(words.begin(), words.end(),
		[](const std::string &a, const std::string &b) { return a > b; });
	for (const std::string &word : words)
		sum = sum * 31 + word.size();
	return sum;
}

__attribute__((noinline)) static uint64_t count_words(Random &random)
{
	std::map<std::string, int> counts;
	uint64_t sum = 0;

	for (int i = 0; i < 2000; i++)
		counts["key" + std::to_string(random.next() % 500)]++;
	for (const auto &entry : counts)
		sum += (uint64_t)entry.second * entry.first.size();
	return sum;
}

static void work(uint64_t seed, double seconds, uint64_t *ret_sum)
{
	Random random = {seed};

	while (thread_cpu_s() < seconds)
		*ret_sum += grow_tree(random) + sort_words(random) + count_words(random);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], nullptr) : 4;
	uint64_t sums[2] = {};
	std::thread other(work, 1, seconds, &sums[0]);

	work(2, seconds, &sums[1]);
	other.join();
	printf("%016llx\n", (unsigned long long)(sums[0] ^ sums[1]));
	return 0;
}

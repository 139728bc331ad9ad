// SPDX-License-Identifier: GPL-2.0
// A compiler's work: this program is only ever compiled, and large for the compiler because of its templates.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <string>
#include <variant>
#include <vector>

template <int N>
struct shape {
	std::map<std::string, std::vector<int>> parts;
	std::variant<int, std::string, std::vector<int>> name = N;

	int area() const
	{
		int sum = N;
		for (const auto &[key, value] : parts)
			sum += std::accumulate(value.begin(), value.end(), int(key.size()));
		return sum;
	}
};

template <int... N>
int areas(std::integer_sequence<int, N...>)
{
	std::vector<std::function<int()>> work{[] { return shape<N>().area(); }...};
	std::ranges::sort(work, {}, [](const auto &each) { return each(); });
	return std::transform_reduce(work.begin(), work.end(), 0, std::plus<>(), [](const auto &each) { return each(); });
}

int main(int argc, char **argv)
{
	return argc > 1 ? areas(std::make_integer_sequence<int, 8>()) : argv[0][0];
}

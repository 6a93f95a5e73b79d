// Input of cc1plus, never run: standard headers and INSTANTIATIONS distinct containers with their algorithms.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

template <int N>
struct Key {
  int value;
  bool operator<(const Key& other) const { return value < other.value; }
};

template <int N>
int exercise(int seed) {
  std::map<Key<N>, std::string> names;
  std::vector<Key<N>> keys;
  for (int i = 0; i < seed; ++i) {
    names[Key<N>{i}] = std::to_string(i);
    keys.push_back(Key<N>{seed - i});
  }
  std::sort(keys.begin(), keys.end());
  return names.begin()->first.value + keys.front().value;
}

template <int... N>
int exercise_all(std::integer_sequence<int, N...>) {
  return (exercise<N>(N + 1) + ... + 0);
}

int result = exercise_all(std::make_integer_sequence<int, INSTANTIATIONS>());

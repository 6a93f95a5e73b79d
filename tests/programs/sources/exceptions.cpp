// C++: exceptions across frames and threads, containers, iostreams, locales, regular expressions, futures.
#include <algorithm>
#include <future>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace {

struct Guard {
  int& count;
  ~Guard() { ++count; }
};

int dive(int depth, int& unwound) {
  Guard guard{unwound};
  if (depth == 0) throw std::out_of_range("bottom");
  return dive(depth - 1, unwound) + 1;
}

int task(int number) {
  if (number % 3 == 0) throw std::invalid_argument("task " + std::to_string(number));
  std::vector<int> v(2000);
  std::iota(v.begin(), v.end(), number);
  std::reverse(v.begin(), v.end());
  std::sort(v.begin(), v.end());
  return v[100];
}

}  // namespace

int main() {
  int unwound = 0, caught = 0;
  for (int i = 0; i < 200; ++i) {
    try {
      dive(i % 50, unwound);
    } catch (const std::logic_error& error) {
      caught += error.what() == std::string("bottom");
    }
  }
  std::cout << unwound << ' ' << caught << '\n';
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 8; ++i) futures.push_back(std::async(std::launch::async, task, i));
  for (auto& f : futures) {
    try {
      std::cout << f.get() << ' ';
    } catch (const std::invalid_argument& error) {
      std::cout << error.what() << ' ';
    }
  }
  std::map<std::string, int> words;
  const std::string text = "the cat and the dog and the bird";
  const std::regex word("\\w+");
  for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i) ++words[i->str()];
  std::ostringstream out;
  for (const auto& [name, count] : words) out << name << '=' << std::setw(3) << count << ' ';
  std::cout << out.str() << std::fixed << std::setprecision(3) << 2.0 / 3 << std::endl;
  throw std::runtime_error("and one that nobody catches");
}

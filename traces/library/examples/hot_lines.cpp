// The ten 64-byte lines of memory that a trace touches most: hot_lines FILE
#include <simrun/trace.h>

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <vector>

int main(int argc, char** argv) try {
  const simrun::Trace trace(argc > 1 ? argv[1] : "");
  std::unordered_map<std::uint64_t, std::uint64_t> touched;
  for (const simrun::Instruction& i : trace.instructions())
    for (const simrun::Reference& r : i.references()) ++touched[r.address / 64];
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lines(touched.begin(), touched.end());
  std::sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
  for (std::size_t k = 0; k < lines.size() && k < 10; ++k)
    std::printf("%#14llx %12llu\n", static_cast<unsigned long long>(lines[k].first * 64), static_cast<unsigned long long>(lines[k].second));
} catch (const simrun::Error& error) {
  std::fprintf(stderr, "hot_lines: %s\n", error.what());
  return 1;
}

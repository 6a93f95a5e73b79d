// simrun convert --l0-filter, read as the format's users read it.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/traces/record_command.h"

namespace simrun {
namespace {

// LRU caches of DineroIV's kind, split level 1 and a level 2 that includes nothing, of what a file in its format holds.
class Dinero {
 public:
  explicit Dinero(const std::string& path) {
    std::ifstream in(path);
    int label = 0;
    for (std::string address; in >> label >> address;) {
      const uint64_t at = std::stoull(address, nullptr, 16);
      ++references;
      for (uint64_t line = at / 64; line <= (at + 3) / 64; ++line) access(label, line);
    }
  }
  uint64_t references = 0, misses[3] = {}, write_backs = 0;  // level 1: fetches, data; level 2

 private:
  struct Cache {
    uint64_t sets, ways;
    std::map<uint64_t, std::vector<std::pair<uint64_t, bool>>> lines = {};  // of a set, the last one used in front
  };
  // Whether it was there. `evicted`: a modified line.
  static bool look(Cache& cache, uint64_t line, bool write, std::optional<uint64_t>& evicted) {
    auto& set = cache.lines[line % cache.sets];
    const auto at = std::find_if(set.begin(), set.end(), [&](const auto& l) { return l.first == line; });
    const bool there = at != set.end();
    std::pair<uint64_t, bool> entry{line, write || (there && at->second)};
    if (there) set.erase(at);
    set.insert(set.begin(), entry);
    if (set.size() > cache.ways) {
      if (set.back().second) evicted = set.back().first;
      set.pop_back();
    }
    return there;
  }
  void access(int label, uint64_t line) {
    std::optional<uint64_t> evicted, further;
    const bool is_fetch = label == 2;
    if (look(is_fetch ? instruction_ : data_, line, label == 1, evicted)) return;
    ++misses[is_fetch ? 0 : 1];
    if (evicted) ++write_backs, look(level2_, *evicted, true, further);
    misses[2] += !look(level2_, line, false, further);
  }
  Cache instruction_{32, 2}, data_{32, 2}, level2_{64, 4};
};

class FilterCommand : public RecordCommand {
 protected:
  std::string convert(const std::string& arguments) { return simrun(fmt::format("convert {} {}", file("t"), arguments)); }
};

TEST_F(FilterCommand, DineroMissesWhatItMissesOfAll) {
  simrun(fmt::format("record -q -o {} -- {} 12", file("t"), kMarked));
  convert("-q --to din -o " + file("all"));
  EXPECT_THAT(convert("--to din --l0-filter 2KiB -o " + file("rest")), HasSubstr("--l0-filter kept "));
  EXPECT_EQ(status_, 0);
  const Dinero all(file("all")), rest(file("rest"));
  EXPECT_GT(all.misses[0], 100u);
  EXPECT_GT(all.misses[1], 100u);
  EXPECT_GT(all.write_backs, 10u);
  EXPECT_EQ(std::vector(all.misses, all.misses + 3), std::vector(rest.misses, rest.misses + 3));
  EXPECT_EQ(all.write_backs, rest.write_backs);
  EXPECT_LT(rest.references, all.references / 3);
}

// Rows are those of all, with their numbers: how many instructions there were is not lost. Each thread has a filter of its own.
TEST_F(FilterCommand, RowsKeepTheirNumbers) {
  simrun(fmt::format("record -q -o {} -- {} 12", file("t"), kMarked));
  convert("-q --to csv -o " + file("all"));
  convert("-q --to csv --l0-filter 4KiB --l0-line 128 -o " + file("rest"));
  std::ifstream all(file("all")), rest(file("rest"));
  uint64_t rows = 0, kept = 0;
  std::string row;
  for (std::string wanted; std::getline(rest, wanted); ++kept)
    do {
      ASSERT_TRUE(std::getline(all, row)) << wanted;
      ++rows;
    } while (row != wanted);
  while (std::getline(all, row)) ++rows;
  EXPECT_GT(kept, 1000u);
  EXPECT_LT(kept, rows / 3);
}

TEST_F(FilterCommand, BadOptions) {
  simrun(fmt::format("record -q -o {} -- {} 1", file("t"), kMarked));
  for (const auto& [options, what] : {std::pair{"--to champsim --l0-filter 4KiB", "--l0-filter goes with --to din or --to csv"},
                                      {"--to gem5 --l0-filter 4KiB", "--l0-filter goes with --to din or --to csv"},
                                      {"--to din --l0-filter 3KiB", "powers of two"},
                                      {"--to din --l0-filter 32 --l0-line 64", "one line at least"},
                                      {"--to din --l0-line 64", "--l0-line goes with --l0-filter"},
                                      {"--from din --l0-filter 4KiB", "--l0-filter goes with --to din or --to csv"}}) {
    EXPECT_THAT(convert(fmt::format("{} -o {}", options, file("x"))), HasSubstr(what));
    EXPECT_EQ(status_, 2) << options;
  }
}

}  // namespace
}  // namespace simrun

// Who touched a line, of many threads and places, against looking through all of them.
#include "sim/detail/line_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace simrun::sim {
namespace {

TEST(LineTable, ManyThreadsAndPlacesEqualAList) {
  std::mt19937_64 random(1);
  LineTable table;
  struct Reference {
    uint64_t line;
    Origin origin;
    Access kind;
    uint32_t offset, bytes;
  };
  std::vector<Reference> made;
  for (int k = 0; k < 100'000; ++k) {
    const Access kind = std::array{Access::kLoad, Access::kStore, Access::kFetch}[random() % 3];
    const Reference r{random() % 3, {static_cast<uint32_t>(random() % 60), 0, 0x1000 + random() % 4}, kind, static_cast<uint32_t>(random() % 2 * 8), 8};
    made.push_back(r);
    LineRecord& record = table[r.line];
    const LineTable::Place place = table.add(record, r.origin, kind, r.offset, r.bytes, ByteMask::of(r.offset, r.bytes, 64));
    if (place.thread != LineTable::kNoSite) ASSERT_EQ(record.threads[place.thread].thread, r.origin.thread);
    if (place.site == LineTable::kNoSite) continue;
    const Site& site = record.sites[place.site];
    ASSERT_EQ(site.origin.thread, r.origin.thread);
    ASSERT_EQ(site.kind, kind);
    if (kind == Access::kFetch) continue;
    ASSERT_EQ(site.origin.pc, r.origin.pc);
    ASSERT_EQ(site.offset, r.offset);
  }
  for (uint64_t line = 0; line < 3; ++line) {
    const LineRecord& record = *table.find(line);
    ASSERT_EQ(record.threads.size(), 60u);
    uint64_t data = 0, references = 0;
    for (const ThreadUse& use : record.threads) data += use.reads + use.writes;
    EXPECT_EQ(data, static_cast<uint64_t>(std::ranges::count_if(made, [&](const Reference& r) { return r.line == line && r.kind != Access::kFetch; })));
    for (size_t i = 0; i < record.sites.size(); ++i) {
      const Site& a = record.sites[i];
      references += a.references;
      for (size_t j = 0; j < i; ++j) {
        const Site& b = record.sites[j];
        ASSERT_FALSE(a.origin.thread == b.origin.thread && a.kind == b.kind && (a.kind == Access::kFetch || (a.origin.pc == b.origin.pc && a.offset == b.offset)));
      }
    }
    EXPECT_EQ(record.sites.size(), 60u * (2 * 4 * 2 + 1));   // loads and stores of four instructions at two places; fetches are one
    EXPECT_GT(references, 30'000u);
  }
}

}  // namespace
}  // namespace simrun::sim

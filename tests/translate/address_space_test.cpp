// The engine's view of the mappings against a table of pages.
#include "instr/engine/translate/address_space.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <random>

namespace simrun::engine {
namespace {

constexpr uint64_t kPage = 4096, kPages = 64, kBase = 0x10000000;

AppAddress address(uint64_t page) { return AppAddress{kBase + page * kPage}; }

struct Page {
  bool mapped = false, shared = false;
  uint64_t protection = 0;
};

TEST(AddressSpace, CountsWhatIsMappedAndJoinsWhatIsAlike) {
  std::mt19937 random(7);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  constexpr std::array<uint64_t, 4> kProtections = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC};
  std::array<Page, kPages> model{};
  note_unmapped(AppAddress{0}, 1ull << 47);
  for (int step = 0; step < 20000; ++step) {
    const uint64_t from = below(kPages), pages = 1 + below(std::min<uint64_t>(8, kPages - from));
    const uint64_t protection = kProtections[below(kProtections.size())];
    const bool shared = below(3) == 0;
    switch (below(4)) {
      case 0:
      case 1:
        note_mapped(address(from), pages * kPage, protection, shared ? MAP_SHARED : MAP_PRIVATE);
        for (uint64_t k = from; k < from + pages; ++k) model[k] = {true, shared, protection};
        break;
      case 2:
        note_unmapped(address(from), pages * kPage);
        for (uint64_t k = from; k < from + pages; ++k) model[k] = {};
        break;
      default:
        note_protected(address(from), pages * kPage, protection);
        for (uint64_t k = from; k < from + pages; ++k)
          if (model[k].mapped) model[k].protection = protection;
    }
    uint64_t all = 0, data = 0, ranges = 0;
    for (uint64_t k = 0; k < kPages; ++k) {
      const Page& page = model[k];
      if (!page.mapped) continue;
      all += kPage;
      if ((page.protection & PROT_WRITE) != 0 && !page.shared) data += kPage;
      // What cannot be read is no other kind to the engine.
      const auto alike = [&](const Page& other) {
        constexpr uint64_t kSeen = PROT_WRITE | PROT_EXEC;
        return other.mapped && other.shared == page.shared && (other.protection & kSeen) == (page.protection & kSeen);
      };
      if (k == 0 || !alike(model[k - 1])) ++ranges;
    }
    ASSERT_EQ(mapped_bytes().all, all) << step;
    ASSERT_EQ(mapped_bytes().data, data) << step;
    ASSERT_EQ(mapped_bytes_in(address(0), address(kPages)).all, all) << step;
    ASSERT_EQ(application_ranges().size(), ranges) << step;
  }
}

}  // namespace
}  // namespace simrun::engine

#include "instr/engine/translate/stable_pages.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace simrun::engine {
namespace {

struct Page {
  uint32_t quiet_from;   // the epoch in which something happened last; or, later, the one before which it is not to be protected again
  uint32_t given_back = 0;
};

uint32_t g_epoch;
std::map<uint64_t, Page> g_compared;   // by page number: those that may become stable
std::map<uint64_t, Page> g_stable;

constexpr uint64_t page_of(uint64_t at) { return at / kPageBytes; }
constexpr uint64_t end_page(uint64_t to) { return page_of(to + (kPageBytes - 1) < to ? to : to + (kPageBytes - 1)); }

void add_page(std::vector<border::AddressRange>& runs, uint64_t page) {
  if (!runs.empty() && runs.back().base + runs.back().bytes == page * kPageBytes)
    runs.back().bytes += kPageBytes;
  else
    runs.push_back({page * kPageBytes, kPageBytes});
}

}  // namespace

bool is_stable(AppAddress at) { return !g_stable.empty() && g_stable.contains(page_of(raw(at))); }

bool has_stable_page(uint64_t from, uint64_t to) {
  const auto first = g_stable.lower_bound(page_of(from));
  return first != g_stable.end() && first->first < end_page(to);
}

void note_compared(AppAddress from, AppAddress to) {
  for (uint64_t page = page_of(raw(from)); page < end_page(raw(to)); ++page) {
    Page& p = g_compared.try_emplace(page, Page{g_epoch}).first->second;
    p.quiet_from = std::max(p.quiet_from, g_epoch);
  }
}

std::vector<border::AddressRange> end_epoch() {
  std::vector<border::AddressRange> runs;
  for (const auto& [page, p] : g_compared)
    if (p.quiet_from < g_epoch) add_page(runs, page);
  ++g_epoch;
  return runs;
}

bool is_quiet(uint64_t page) {
  const auto compared = g_compared.find(page_of(page));
  return compared != g_compared.end() && compared->second.quiet_from + 1 < g_epoch;
}

void forget_compared(uint64_t from, uint64_t to) {
  g_compared.erase(g_compared.lower_bound(page_of(from)), g_compared.lower_bound(end_page(to)));
}

void note_stable(uint64_t from, uint64_t to) {
  for (uint64_t page = page_of(from); page < end_page(to); ++page) {
    const auto compared = g_compared.find(page);
    CHECK(compared != g_compared.end());   // or nobody would know that the kernel has taken its permission
    g_stable.insert(*compared);
    g_compared.erase(compared);
  }
}

std::vector<border::AddressRange> take_stable(uint64_t from, uint64_t to) {
  constexpr uint32_t kMostDoublings = 16;
  std::vector<border::AddressRange> runs;
  for (auto p = g_stable.lower_bound(page_of(from)); p != g_stable.end() && p->first < end_page(to); p = g_stable.erase(p)) {
    add_page(runs, p->first);
    const uint32_t times = std::min(p->second.given_back + 1, kMostDoublings);
    g_compared[p->first] = {g_epoch + (1u << times), times};
  }
  return runs;
}

}  // namespace simrun::engine

#include "analysis/sharing/propose_fix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace simrun::analysis {

namespace {

// A part of an object that is used as one: a member, an element, or the bytes of an access.
struct Item {
  const DataName* data;
  uint64_t begin, end;  // in the line
  std::set<uint32_t> readers, writers;
};

// Whoever set the line up, or looked at it once, is not why it moves.
bool moves_it(const SharingUse& use, const SharingLine& line) {
  constexpr uint64_t kLeastPercent = 1;
  const uint64_t all = line.false_misses + line.true_misses + line.upgrades;
  return 100 * (use.false_misses + use.true_misses + use.upgrades) >= kLeastPercent * all;
}

// Of uses that move the line, or of all that the table shows.
std::vector<Item> items_of(const SharingLine& line, bool movers_only) {
  std::vector<Item> items;
  const UseTotals all = totals_of(line);
  for (const SharingUse& use : line.uses) {
    if (movers_only ? !moves_it(use, line) : !matters(use, all)) continue;
    const uint64_t end = use.offset + use.bytes;
    auto item = std::find_if(items.begin(), items.end(), [&](const Item& i) {
      return i.begin < end && use.offset < i.end;  // overlapping bytes are one thing
    });
    if (item == items.end()) item = items.insert(items.end(), {&use.data, use.offset, end, {}, {}});
    item->begin = std::min<uint64_t>(item->begin, use.offset);
    item->end = std::max(item->end, end);
    if (use.reads != 0) item->readers.insert(use.thread);
    if (use.writes != 0) item->writers.insert(use.thread);
  }
  return items;
}

bool others_among(const std::set<uint32_t>& threads, const std::set<uint32_t>& of) {
  return std::any_of(threads.begin(), threads.end(),
                     [&](uint32_t t) { return of.size() > 1 || (of.size() == 1 && !of.contains(t)); });
}

// The items that disturb one another: one is written by a thread while another thread uses the other.
std::vector<const Item*> disturbing(const std::vector<Item>& items) {
  std::vector<const Item*> result;
  for (const Item& a : items)
    for (const Item& b : items) {
      if (&a == &b) continue;
      const bool disturbs = others_among(a.readers, b.writers) || others_among(a.writers, b.writers) ||
                            others_among(b.readers, a.writers);
      if (!disturbs) continue;
      result.push_back(&a);
      break;
    }
  return result;
}

// A member as a whole, or what bytes of the object.
std::string part_name(const Item& item) {
  DataName data = *item.data;
  if (!data.member.empty()) data.offset = data.part;
  return name_of(data);
}

std::string object_name(const Item& item) { return item.data->object; }

// Of the outermost array that the item lies in: "world.in" of world.in[3].hits[1], "3", ".hits[1]". Empty: in none.
struct Element {
  std::string array, index, rest;
};
Element element_of(const Item& item) {
  const std::string& member = item.data->member;
  const size_t from = member.find('['), to = member.find(']', from);
  if (item.data->element_size == 0 || from == member.npos || to == member.npos) return {};
  return {item.data->object + member.substr(0, from), member.substr(from + 1, to - from - 1), member.substr(to + 1)};
}

// Elements of one array, each used as one thing at most: an access may be wider than a char.
bool are_elements_of_one_array(const std::vector<const Item*>& items) {
  const Element first = element_of(*items[0]);
  if (first.array.empty()) return false;
  const bool fit = std::all_of(items.begin(), items.end(), [&](const Item* i) {
    return element_of(*i).array == first.array && i->end - i->begin <= i->data->element_size;
  });
  return fit && std::any_of(items.begin(), items.end(), [&](const Item* i) { return element_of(*i).index != first.index; });
}

std::string pad_elements(const Item& item, uint32_t line_bytes) {
  const Element element = element_of(item);
  const bool is_struct = element.rest.starts_with('.');
  return fmt::format("pad the elements of '{0}' ({1} bytes each) to {2} bytes: {3}alignas({2}){4}", element.array, item.data->element_size, line_bytes,
                     is_struct ? "" : "each in a struct with ", is_struct ? " on their type" : "");
}

std::string list_of(const std::vector<const Item*>& items, std::string (*name_of_item)(const Item&) = part_name) {
  std::vector<std::string> names;
  for (const Item* item : items) {
    std::string name = "'" + name_of_item(*item) + "'";
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  constexpr size_t kMost = 4;
  if (names.size() > kMost) {
    const size_t more = names.size() - kMost;
    names.resize(kMost);
    return fmt::format("{} and {} more", fmt::join(names, ", "), more);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string separate_bytes(const SharingLine& line, const std::vector<const Item*>& items, uint32_t line_bytes) {
  // What each thread uses of the block in this line, whether it misses or not; not what it looked at once.
  std::map<uint32_t, std::pair<int64_t, int64_t>> by_thread;
  const UseTotals all = totals_of(line);
  for (const SharingUse& use : line.uses) {
    const bool wanted = std::any_of(items.begin(), items.end(), [&](const Item* i) {
      return i->readers.contains(use.thread) || i->writers.contains(use.thread);
    });
    if (!wanted || !matters(use, all)) continue;
    const DataName& first = *items[0]->data;
    if (use.data.kind != first.kind || use.data.block != first.block || use.data.object != first.object) continue;
    const int64_t begin = use.data.offset, end = begin + use.bytes;
    const auto [at, is_new] = by_thread.emplace(use.thread, std::pair(begin, end));
    at->second = {std::min(at->second.first, begin), std::max(at->second.second, end)};
  }
  std::vector<std::string> parts;
  for (const auto& [thread, bytes] : by_thread)
    parts.push_back(fmt::format("{} to {} (thread {})", bytes.first, bytes.second - 1, thread));
  if (parts.size() > 8) parts.resize(8), parts.push_back("...");
  const DataName& data = *items[0]->data;
  const std::string whole = data.kind == PlaceKind::kModule ? "'" + data.object + "'" : "the " + data.object;
  return fmt::format("keep the bytes {} of {} on lines of their own: pad what one thread uses to {} bytes", fmt::join(parts, ", "), whole,
                     line_bytes);
}

std::string separate(const SharingLine& line, const std::vector<const Item*>& items, uint32_t line_bytes) {
  const DataName& first = *items[0]->data;
  const auto same_object = [&](const Item* i) {
    return i->data->kind == first.kind && i->data->block == first.block && i->data->object == first.object;
  };
  const bool one_object = std::all_of(items.begin(), items.end(), same_object);
  const bool block = first.kind == PlaceKind::kHeap || first.kind == PlaceKind::kMapping;
  if (one_object && block) return separate_bytes(line, items, line_bytes);
  if (one_object && are_elements_of_one_array(items)) return pad_elements(*items[0], line_bytes);
  const auto is_whole = [](const Item* i) { return !i->data->member.empty() && (i->data->part_size == 0 || i->end - i->begin <= i->data->part_size); };
  if (one_object && first.kind == PlaceKind::kModule && !std::all_of(items.begin(), items.end(), is_whole))
    return separate_bytes(line, items, line_bytes);
  if (one_object && first.kind == PlaceKind::kBreak)
    return "none that is known: the bytes are in no block of the heap, they are freed or the allocator's own";
  if (one_object && first.member.empty() && (first.kind == PlaceKind::kStack || first.kind == PlaceKind::kThread))
    return fmt::format("put the variables at {} on different lines: alignas({})", list_of(items), line_bytes);
  if (one_object)
    return fmt::format("move {} to different lines: alignas({}) on the members, or {} bytes of padding between them",
                       list_of(items), line_bytes, line_bytes);
  const bool blocks =
      std::all_of(items.begin(), items.end(), [](const Item* i) { return i->data->kind == PlaceKind::kHeap; });
  if (blocks)
    return fmt::format(
        "give each of these a line of its own: {}: aligned_alloc({}, size rounded up to a multiple of {})",
        list_of(items, object_name), line_bytes, line_bytes);
  return fmt::format("put {} on different lines: alignas({})", list_of(items), line_bytes);
}

// What threads really exchange. A reader need not miss: what moves the line may be another part of it, exchanged too.
std::string exchanged(const SharingLine& line) {
  for (const bool movers_only : {true, false}) {
    const std::vector<Item> items = items_of(line, movers_only);
    std::vector<const Item*> shared;
    for (const Item& item : items)
      if (others_among(item.readers, item.writers) || item.writers.size() > 1) shared.push_back(&item);
    if (!shared.empty()) return list_of(shared);
  }
  return "its data";
}

}  // namespace

std::string propose_fix(const SharingLine& line, uint32_t line_bytes) {
  if (line.false_misses + line.true_misses < kWorthALook) return "";
  const std::vector<Item> items = items_of(line, true);
  const std::vector<const Item*> apart = disturbing(items);
  std::string text;
  if (line.verdict != Verdict::kTrueSharing && !apart.empty()) text = separate(line, apart, line_bytes);
  if (line.verdict == Verdict::kFalseSharing) return text;
  if (!text.empty()) text += "; besides, ";
  return text +
         fmt::format("threads exchange {}: padding does not help, fewer or private updates do", exchanged(line));
}

}  // namespace simrun::analysis

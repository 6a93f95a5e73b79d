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
  if (item.data->element_size % line_bytes == 0)
    return fmt::format("align '{}' to {} bytes: alignas({}) on it; its elements are whole lines long ({} bytes each), but begin amid lines", element.array,
                       line_bytes, line_bytes, item.data->element_size);
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

// Bytes of an object, half open.
struct Bytes {
  int64_t begin, end;
  bool meets(const Bytes& other) const { return begin < other.end && other.begin < end; }
};
using UsedBytes = std::vector<std::pair<uint32_t, Bytes>>;  // with the thread

// What the threads of `items` use of their object in this line, whether they miss or not; not what they looked at once.
UsedBytes used_bytes(const SharingLine& line, const std::vector<const Item*>& items) {
  UsedBytes used;
  const UseTotals all = totals_of(line);
  const DataName& object = *items[0]->data;
  for (const SharingUse& use : line.uses) {
    const bool wanted = std::any_of(items.begin(), items.end(), [&](const Item* i) {
      return i->readers.contains(use.thread) || i->writers.contains(use.thread);
    });
    if (!wanted || !matters(use, all)) continue;
    if (use.data.kind != object.kind || use.data.block != object.block || use.data.object != object.object) continue;
    used.push_back({use.thread, {use.data.offset, use.data.offset + use.bytes}});
  }
  return used;
}

// From the first to the last of the bytes that each thread has for itself.
std::map<uint32_t, Bytes> own_bytes(const UsedBytes& used) {
  std::map<uint32_t, Bytes> own;
  for (const auto& [thread, bytes] : used) {
    const bool shared = std::any_of(used.begin(), used.end(), [&](const auto& u) { return u.first != thread && u.second.meets(bytes); });
    if (shared) continue;
    Bytes& all = own.emplace(thread, bytes).first->second;
    all = {std::min(all.begin, bytes.begin), std::max(all.end, bytes.end)};
  }
  return own;
}

std::string whole_name(const DataName& data) { return data.kind == PlaceKind::kModule ? "'" + data.object + "'" : "the " + data.object; }

// Of threads that have bytes to themselves. Empty: there are none, or it is what they exchange that matters.
std::string separate_bytes(const SharingLine& line, const std::vector<const Item*>& items, uint32_t line_bytes) {
  const std::map<uint32_t, Bytes> own = own_bytes(used_bytes(line, items));
  std::vector<std::string> parts;
  for (const auto& [thread, bytes] : own) {
    const auto meets = [&](const auto& other) { return other.first != thread && other.second.meets(bytes); };
    if (std::none_of(own.begin(), own.end(), meets)) parts.push_back(fmt::format("{} to {} (thread {})", bytes.begin, bytes.end - 1, thread));
  }
  const std::string whole = whole_name(*items[0]->data);
  if (parts.empty() && !own.empty())
    return fmt::format("keep together what each thread uses of {}, in a multiple of {} bytes of its own: the bytes of threads alternate", whole, line_bytes);
  if (parts.empty() && line.verdict == Verdict::kFalseSharing)
    return fmt::format("put what is used at different times on different lines: {}", list_of(items));
  if (parts.empty()) return "";
  if (parts.size() > 8) parts.resize(8), parts.push_back("...");
  return fmt::format("keep the bytes {} of {} on lines of their own: pad what one thread uses to {} bytes", fmt::join(parts, ", "), whole, line_bytes);
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

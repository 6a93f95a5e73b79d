#include "traces/region.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/parse_count.h"
#include "base/user_error.h"

namespace simrun::traces {

namespace {

[[noreturn]] void bad(const std::string& text) {
  throw UserError(fmt::format("\"{}\" is no bound of a region: give an instruction count (1000000, 2.5M, 1B), FUNCTION[:N], "
                              "MODULE+0xOFFSET[:N] or marker:NUMBER",
                              text),
                  2);
}

// Of a marker: those of other simulators are usually given as 0x111.
bool parse_number(std::string_view text, uint64_t* value) {
  if (!text.starts_with("0x")) return parse_count(text, value);
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 2, end, *value, 16);
  return error == std::errc{} && at == end;
}

bool is_named(const Module& module, const std::string& name) {
  return module.path == name || module.path.substr(module.path.rfind('/') + 1) == name;
}

bool is_number_load(std::span<const uint8_t> code) { return code.size() == 5 && code[0] == 0xbb; }

uint32_t number_of(std::span<const uint8_t> code) {
  uint32_t number;
  std::memcpy(&number, code.data() + 1, 4);
  return number;
}

bool is_mark(std::span<const uint8_t> code) {
  return code.size() == 3 && code[0] == 0x64 && code[1] == 0x67 && code[2] == 0x90;
}

}  // namespace

RegionBound parse_region_bound(const std::string& text) {
  RegionBound bound;
  bound.text = text;
  if (text.empty()) bad(text);
  if (parse_count(text, &bound.count)) {
    bound.kind = RegionBound::Kind::kInstructions;
    return bound;
  }
  const size_t colon = text.rfind(':');
  if (text.starts_with("marker:") && colon != text.find(':')) bad(text);  // it has no count
  std::string name = text.substr(0, colon);
  if (name == "marker" && colon != std::string::npos) {
    uint64_t number = 0;
    if (!parse_number(std::string_view(text).substr(colon + 1), &number) || number > ~uint32_t{0}) bad(text);
    bound.kind = RegionBound::Kind::kMarker;
    bound.count = 1;
    bound.marker = static_cast<uint32_t>(number);
    return bound;
  }
  bound.count = 1;
  if (colon != std::string::npos) {
    uint64_t count = 0;
    if (parse_count(std::string_view(text).substr(colon + 1), &count) && count != 0)
      bound.count = count;
    else if (colon + 1 < text.size() && text[colon + 1] >= '0' && text[colon + 1] <= '9')
      bad(text);
    else
      name = text;  // of a C++ function, say
  }
  const size_t plus = name.rfind("+0x");
  bound.kind = RegionBound::Kind::kFunction;
  bound.name = name;
  if (plus == std::string::npos) return bound;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + plus + 3, end, bound.offset, 16);
  if (error != std::errc{} || at != end || plus == 0) bad(text);
  bound.kind = RegionBound::Kind::kOffset;
  bound.name = name.substr(0, plus);
  return bound;
}

RegionTracker::RegionTracker(RegionBound from, RegionBound to, FindFunction find_function)
    : from_(std::move(from)), to_(std::move(to)), find_function_(std::move(find_function)) {
  if (from_.kind == RegionBound::Kind::kInstructions && to_.kind == RegionBound::Kind::kInstructions &&
      to_.count <= from_.count)
    throw UserError(fmt::format("the region ends ({}) before it starts ({})", to_.text, from_.text), 2);
  if (from_.kind == RegionBound::Kind::kNone) start();
}

void RegionTracker::add_module(const Module& module) {
  const auto watch = [&](const RegionBound& bound, std::vector<Watch>& list, bool& is_there) {
    if (bound.kind == RegionBound::Kind::kOffset && is_named(module, bound.name)) {
      is_there = true;
      const uint64_t bytes = module.end - module.start;
      if (bound.offset >= module.file_offset && bound.offset - module.file_offset < bytes)
        list.push_back({module.process, module.start + (bound.offset - module.file_offset)});
    }
    if (bound.kind != RegionBound::Kind::kFunction || !find_function_) return;
    for (uint64_t address : find_function_(module, bound.name)) list.push_back({module.process, address});
  };
  watch(from_, from_watch_, from_is_named_);
  watch(to_, to_watch_, to_is_named_);
}

void RegionTracker::forget_paths(uint32_t process) {
  if (process < by_process_.size()) by_process_[process].clear();
}

void RegionTracker::select(uint32_t process) {
  if (process >= by_process_.size()) by_process_.resize(process + 1);
  marks_ = &by_process_[process];
  last_process_ = process;
}

void RegionTracker::mark(uint32_t process, const DescriptorTable& table) {
  std::vector<uint8_t>& marks = *marks_;
  marks.reserve(table.paths());
  while (marks.size() < table.paths()) {
    const auto path = static_cast<uint32_t>(marks.size());
    marks.push_back(path < kFirstPath ? 0 : mark_of(process, table, path));
  }
}

uint8_t RegionTracker::mark_of(uint32_t process, const DescriptorTable& table, uint32_t path) const {
  const Path& p = table.path(path);
  const DescriptorTable::View view = table.superblock(p.superblock);
  uint8_t mark = 0;
  for (uint32_t k = 0; k < p.instructions; ++k) {
    const uint64_t pc = view.pc + static_cast<uint64_t>(int64_t{view.instructions[k].offset});
    for (const Watch& w : from_watch_) mark |= w.process == process && w.address == pc ? kHasFrom : 0;
    for (const Watch& w : to_watch_) mark |= w.process == process && w.address == pc ? kHasTo : 0;
  }
  if (from_.kind != RegionBound::Kind::kMarker && to_.kind != RegionBound::Kind::kMarker) return mark;
  for (const Marker& m : find_markers(view)) mark |= m.instruction < p.instructions ? kHasMarker : 0;
  if (p.instructions == view.instructions.size() && !view.code.empty()) {
    const uint32_t length = view.instructions.back().length;
    if (is_number_load(view.code.last(length))) mark |= kEndsWithNumber;
  }
  return mark;
}

void RegionTracker::meet(uint32_t thread, const DescriptorTable& table, uint32_t path) {
  const uint8_t mark = (*marks_)[path];
  const Path& p = table.path(path);
  const DescriptorTable::View view = table.superblock(p.superblock);
  if (thread >= numbers_.size()) numbers_.resize(thread + 1);
  // Ends first: a bound that is both ends one region and does not start it again.
  if (mark & kHasTo) reach(kHasTo, 1);
  if (mark & kHasFrom) reach(kHasFrom, 1);
  if (mark & kHasMarker) {
    for (const Marker& m : find_markers(view)) {
      if (m.instruction >= p.instructions) continue;
      const uint32_t number = m.has_number ? m.number : numbers_[thread];
      if (to_.kind == RegionBound::Kind::kMarker && number == to_.marker) reach(kHasTo, 1);
      if (from_.kind == RegionBound::Kind::kMarker && number == from_.marker) reach(kHasFrom, 1);
    }
  }
  if (mark & kEndsWithNumber) numbers_[thread] = number_of(view.code.last(5));
}

void RegionTracker::reach(uint8_t which, uint64_t times) {
  if (which == kHasFrom && state_ == State::kBefore && (from_met_ += times) >= from_.count) start();
  else if (which == kHasTo && state_ == State::kInside && (to_met_ += times) >= to_.count) stop();
}

void RegionTracker::start() {
  state_ = State::kInside;
  started_at_ = now_;
}

void RegionTracker::stop() {
  state_ = State::kAfter;
  stopped_at_ = now_;
}

std::string RegionTracker::unknown() const {
  const auto lacks = [](const RegionBound& b, const std::vector<Watch>& list) {
    return is_code(b) && list.empty();
  };
  if (lacks(from_, from_watch_)) return from_.text;
  return lacks(to_, to_watch_) ? to_.text : std::string();
}

std::vector<Marker> find_markers(const DescriptorTable::View& superblock) {
  std::vector<Marker> found;
  size_t at = 0;
  std::span<const uint8_t> previous;
  for (uint32_t k = 0; k < superblock.instructions.size() && !superblock.code.empty(); ++k) {
    const auto code = superblock.code.subspan(at, superblock.instructions[k].length);
    if (is_mark(code) && k == 0) found.push_back({k, false, 0});
    if (is_mark(code) && k != 0 && is_number_load(previous)) found.push_back({k, true, number_of(previous)});
    previous = code;
    at += code.size();
  }
  return found;
}

}  // namespace simrun::traces

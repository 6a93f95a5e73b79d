#include "analysis/memory/address_space.h"

#include <algorithm>
#include <iterator>

namespace simrun::analysis {

AddressSpace::AddressSpace() = default;

int AddressSpace::map_module(const std::string& path, uint64_t start, uint64_t end, uint64_t code_address,
                             uint64_t code_offset) {
  auto known = module_by_path_.find(path);
  if (known == module_by_path_.end()) {
    known = module_by_path_.emplace(path, static_cast<uint32_t>(modules_.size())).first;
    modules_.push_back(std::make_unique<ModuleSymbols>(path));
  }
  const ModuleSymbols& module = *modules_[known->second];
  const auto file_address = module.problem().empty() ? module.address_of_offset(code_offset) : std::nullopt;
  if (!file_address) return -1;
  const uint64_t bias = code_address - *file_address;
  // What the program has mapped right behind it is not its.
  constexpr uint64_t kPage = 4096;
  end = std::min(end, (bias + module.end_address() + kPage - 1) / kPage * kPage);
  insert(start, {end, PlaceKind::kModule, known->second, bias});
  return static_cast<int>(known->second);
}

void AddressSpace::map_memory(uint64_t address, uint64_t bytes, uint32_t thread, uint32_t site, bool fixed) {
  uint64_t start = 0;
  const Range* there = range_of(address, &start);
  if (there == nullptr && address != 0) there = range_of(address - 1, &start);
  if (fixed && there != nullptr && there->kind == PlaceKind::kModule) {
    insert(address, {address + bytes, PlaceKind::kModule, there->id, there->bias});
    return;
  }
  mappings_.push_back({address, bytes, thread, site});
  insert(address, {address + bytes, PlaceKind::kMapping, static_cast<uint32_t>(mappings_.size() - 1), 0});
}

void AddressSpace::unmap(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  auto at = ranges_.upper_bound(address);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    const uint64_t start = at->first;
    const Range range = at->second;
    if (range.end <= address) {
      ++at;
      continue;
    }
    at = ranges_.erase(at);
    if (range.kind == PlaceKind::kModule) {
      sites_.begin_anew();
      unloaded_.insert_or_assign(start, range);
    }
    if (start < address) ranges_.emplace(start, Range{address, range.kind, range.id, range.bias});
    if (range.end > end) at = ranges_.emplace(end, range).first;
  }
}

void AddressSpace::unmap_at(uint64_t address) {
  uint64_t start = 0;
  const Range* range = range_of(address, &start);
  if (range != nullptr && range->kind == PlaceKind::kMapping) unmap(address, mappings_[range->id].bytes);
}

void AddressSpace::insert(uint64_t start, Range range) {
  unmap(start, range.end - start);
  ranges_.emplace(start, range);
}

uint32_t AddressSpace::call_site(std::span<const uint64_t> frames) {
  const uint32_t site = sites_.intern(frames);
  if (site == calls_.size()) {
    calls_.emplace_back();
    // The call ends before the address that it returns to.
    for (const uint64_t return_address : sites_.frames(site)) calls_.back().push_back(code_place(return_address - 1));
  }
  return site;
}

void AddressSpace::set_break(uint64_t end) {
  if (break_start_ == 0) break_start_ = end;
  break_end_ = end;
}

void AddressSpace::allocate(uint64_t address, uint64_t bytes, uint32_t thread, uint32_t site) {
  ++allocations;
  // A block ends where a new one begins. Its release is still to come when another thread did it, whose events stand
  // later in virtual time.
  auto at = live_.lower_bound(address);
  if (at != live_.begin() && blocks_[std::prev(at)->second].address + blocks_[std::prev(at)->second].bytes > address)
    --at;
  while (at != live_.end() && at->first < address + std::max<uint64_t>(bytes, 1)) {
    ++late_releases_[at->first];
    at = live_.erase(at);
  }
  blocks_.push_back({address, bytes, thread, site});
  live_.emplace(address, static_cast<uint32_t>(blocks_.size() - 1));
}

void AddressSpace::release(uint64_t address) {
  if (const auto late = late_releases_.find(address); late != late_releases_.end()) {
    if (--late->second == 0) late_releases_.erase(late);
    ++releases;
    return;
  }
  if (live_.erase(address) != 0)
    ++releases;
  else
    ++unknown_releases;
}

void AddressSpace::start_thread(uint32_t thread, uint64_t thread_pointer, uint64_t stack_pointer) {
  for (auto at = threads_.begin(); at != threads_.end();) {
    const auto [other, memory] = *at;
    const bool ended = other != thread && thread_pointer != 0 && memory.thread_pointer == thread_pointer;
    if (ended && first_thread_ == other) first_thread_ = thread;  // in a process that was forked
    at = ended ? threads_.erase(at) : std::next(at);
  }
  if (!first_thread_) first_thread_ = thread;
  threads_[thread] = {thread_pointer, stack_pointer};
}

void AddressSpace::end_thread(uint32_t thread) {
  if (first_thread_ != thread) threads_.erase(thread);  // the first stack stays
}

void AddressSpace::set_thread_pointer(uint32_t thread, uint64_t thread_pointer) {
  threads_[thread].thread_pointer = thread_pointer;
}

const AddressSpace::Range* AddressSpace::range_of(uint64_t address, uint64_t* start) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  --after;
  *start = after->first;
  return address < after->second.end ? &after->second : nullptr;
}

const Block* AddressSpace::live_block(uint64_t address, uint32_t* id) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  const Block& block = blocks_[(--after)->second];
  *id = after->second;
  return address - block.address < block.bytes ? &block : nullptr;
}

// At most: that of libraries which were loaded later is elsewhere.
uint64_t AddressSpace::thread_local_bytes() const {
  uint64_t sum = 0;
  for (const auto& module : modules_) sum += module->thread_local_bytes();
  return sum;
}

namespace {

// Of a stack that is a part of a larger mapping (a run-time system's own heap, as Go has it) nobody says how long it is.
constexpr uint64_t kFrame = 1024, kPartOfMapping = 16 << 10;

}  // namespace

// Whether the range, which its first stack pointer is in, is its stack alone: it begins at the upper end, below no more than its control block and
// thread-local variables.
bool AddressSpace::is_stack(const Range& range, const Thread& thread) {
  constexpr uint64_t kAbove = 64 << 10;
  const bool has_block = thread.thread_pointer >= thread.stack_pointer && thread.thread_pointer < range.end;
  return range.end - (has_block ? thread.thread_pointer : thread.stack_pointer) <= kAbove;
}

// Of a thread's control block and thread-local variables (glibc, musl): at the upper end of its stack, or, of the first
// thread, in memory of their own. `range`: null, or what `address` is in, from `start` on.
std::optional<Place> AddressSpace::thread_memory(uint64_t address, const Range* range, uint64_t start) const {
  constexpr uint64_t kControlBlock = 4096;
  const auto here = [&](uint64_t a) { return range != nullptr && a >= start && a < range->end; };
  const uint64_t below = thread_local_bytes();
  for (const auto& [t, thread] : threads_) {
    const uint64_t pointer = thread.thread_pointer;
    if (here(thread.stack_pointer) && !is_stack(*range, thread)) {
      // A pool's stack may have the control block and thread-local variables at its end all the same, close above.
      const bool has_block = here(pointer) && pointer >= thread.stack_pointer && pointer - thread.stack_pointer < below + kPartOfMapping;
      if (has_block && address >= thread.stack_pointer && address < pointer + kControlBlock) return Place{PlaceKind::kThread, t, pointer - address};
      if (address < thread.stack_pointer + kFrame && address + kPartOfMapping > thread.stack_pointer) return Place{PlaceKind::kStack, t, thread.stack_pointer - address};
      continue;
    }
    const bool on_stack = here(thread.stack_pointer) && here(pointer);
    const uint64_t lowest = on_stack ? thread.stack_pointer : pointer - below;
    if (pointer != 0 && address >= lowest && address < pointer + kControlBlock)
      return Place{PlaceKind::kThread, t, pointer - address};
    if (here(thread.stack_pointer)) return Place{PlaceKind::kStack, t, range->end - address};
  }
  return std::nullopt;
}

Place AddressSpace::place(uint64_t address) const {
  uint32_t id = 0;
  if (const Block* block = live_block(address, &id)) return {PlaceKind::kHeap, id, address - block->address};
  uint64_t start = 0;
  const Range* range = range_of(address, &start);
  if (range != nullptr && range->kind == PlaceKind::kModule)
    return {PlaceKind::kModule, range->id, address - range->bias};
  if (const auto place = thread_memory(address, range, start)) return *place;
  if (range != nullptr) return {PlaceKind::kMapping, range->id, address - mappings_[range->id].address};
  if (address >= break_start_ && address < break_end_) return {PlaceKind::kBreak, 0, address - break_start_};
  // The first thread's stack grows down from where it started. The kernel maps what it chooses no nearer to it (arch/x86/mm/mmap.c, mmap_base).
  constexpr uint64_t kFarthest = uint64_t{128} << 20;
  if (!first_thread_) return {PlaceKind::kUnknown, 0, address};
  const uint64_t stack_pointer = threads_.at(*first_thread_).stack_pointer;
  if (address <= stack_pointer + (1 << 20) && address + kFarthest > stack_pointer)
    return {PlaceKind::kStack, *first_thread_, stack_pointer - address};
  return {PlaceKind::kUnknown, 0, address};
}

Place AddressSpace::code_place(uint64_t address) const {
  uint64_t start = 0;
  const Range* range = range_of(address, &start);
  if (range == nullptr) {
    const auto behind = unloaded_.upper_bound(address);
    if (behind != unloaded_.begin() && address < std::prev(behind)->second.end) range = &std::prev(behind)->second;
  }
  if (range == nullptr || range->kind != PlaceKind::kModule) return {PlaceKind::kUnknown, 0, address};
  return {PlaceKind::kModule, range->id, address - range->bias};
}

std::vector<FunctionSymbol> AddressSpace::functions_at(uint64_t address, const std::vector<std::string>& names) const {
  uint64_t start = 0;
  const Range* range = range_of(address, &start);
  if (range == nullptr || range->kind != PlaceKind::kModule) return {};
  std::vector<FunctionSymbol> found = modules_[range->id]->functions(names);
  for (FunctionSymbol& f : found) f.address += range->bias;
  return found;
}

}  // namespace simrun::analysis

#include "instr/channel/memory_names.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "instr/channel/stream_error.h"

namespace simrun::channel {

namespace {

// The first of its words; the second is the process.
enum class Change : uint64_t {
  kImage,   // how many files; the files
  kCopy,    // the parent
  kForget,  // -
  kEvent,   // which; its payload
};

constexpr uint64_t kPages = uint64_t{1} << (64 - MemoryNames::kPageShift);
constexpr uint64_t kNoPage = ~uint64_t{0};
// A process's own pages are named as its addresses with its number in the top 16 bits.
constexpr uint32_t kProcessShift = 48 - MemoryNames::kPageShift;
// Files and segments have names from here on, each part of 256 GiB a range of its own: aligned, so that what a large
// page of the file holds is in one large page of names.
constexpr uint32_t kFirstObjectTag = 0xf000;
constexpr uint64_t kFirstObjectName = uint64_t{kFirstObjectTag} << kProcessShift;
constexpr uint32_t kPartShift = 26;
constexpr uint64_t kPartPages = uint64_t{1} << kPartShift;
constexpr uint64_t kObjectsOfOwnTags = (kPages - kFirstObjectName) / kPartPages;
// Addresses of a user end at 2^47, so of what has a process's number the upper half is free: for objects when those names
// have been used up, from the highest number down, and for processes behind the last number, from number 0 up. (The last
// part of a half is left out: the kernel's page of old system calls has its names there.)
constexpr uint64_t kHalfPages = uint64_t{1} << (kProcessShift - 1);
constexpr uint64_t kObjectsOfHalf = kHalfPages / kPartPages - 1;

// Tags whose upper half is taken: by later processes, by later objects.
void require_names(uint64_t processes, uint64_t objects) {
  const uint64_t of_processes = processes - std::min<uint64_t>(processes, kFirstObjectTag);
  const uint64_t later = objects - std::min(objects, kObjectsOfOwnTags);
  if (of_processes + (later + kObjectsOfHalf - 1) / kObjectsOfHalf <= kFirstObjectTag) return;
  throw CapacityError("more processes, files and pieces of shared memory than the model has names for (" +
                    std::to_string(processes) + " and " + std::to_string(objects) + ")");
}

constexpr uint64_t pages_of(uint64_t bytes) { return (bytes + MemoryNames::kPageBytes - 1) >> MemoryNames::kPageShift; }

}  // namespace

MemoryNames::MemoryNames(uint64_t objects) : named_(objects) {}
MemoryNames::~MemoryNames() = default;

MemoryNames::MemoryNames(const MemoryNames& other)
    : plain_(other.plain_), buffers_(other.buffers_.size()), objects_(other.objects_), borrowed_(other.borrowed_), named_(other.named_), unnamed_(other.unnamed_) {
  const auto copy = [](const auto& from, auto& to) {
    for (const auto& one : from) to.push_back(one == nullptr ? nullptr : std::make_unique<typename std::remove_cvref_t<decltype(one)>::element_type>(*one));
  };
  copy(other.processes_, processes_);
  copy(other.storage_, storage_);
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (storage_[i] != nullptr) buffers_[i] = storage_[i]->data();
}

void MemoryNames::tell(std::initializer_list<uint64_t> head, std::span<const uint64_t> rest) {
  if (tell_ == nullptr) return;
  std::vector<uint64_t> words(head);
  words.insert(words.end(), rest.begin(), rest.end());
  tell_(words);
}

void MemoryNames::make_change(std::span<const uint64_t> change) {
  const auto process = static_cast<uint32_t>(change[1]);
  const std::span<const uint64_t> rest = change.subspan(3);
  switch (static_cast<Change>(change[0])) {
    case Change::kImage: {
      std::vector<border::MappedFile> files(change[2]);
      std::memcpy(static_cast<void*>(files.data()), rest.data(), rest.size_bytes());
      return add_image(process, files);
    }
    case Change::kCopy:
      return add_copy(process, static_cast<uint32_t>(change[2]));
    case Change::kForget:
      return forget(process);
    case Change::kEvent:
      return event(process, static_cast<border::Event>(change[2]), rest);
  }
}

uint64_t MemoryNames::own_name(uint32_t process, uint64_t page) {
  const uint64_t first = process < kFirstObjectTag
                             ? uint64_t{process} << kProcessShift
                             : (uint64_t{process - kFirstObjectTag} << kProcessShift) + kHalfPages;
  return (page + first) % kPages;
}

void MemoryNames::add(uint32_t process) {
  require_names(process + uint64_t{1}, named_);
  if (processes_.size() <= process) {
    processes_.resize(process + 1);
    storage_.resize(process + 1);
    buffers_.resize(process + 1);
  }
  plain_ = plain_ && process == 0;
  processes_[process] = std::make_unique<Process>();
  storage_[process] = std::make_unique<Buffer>();
  buffers_[process] = storage_[process]->data();
  forget_translations(process);
}

void MemoryNames::add_image(uint32_t process, std::span<const border::MappedFile> files) {
  if (tell_ != nullptr) {
    static_assert(sizeof(border::MappedFile) % sizeof(uint64_t) == 0 && std::is_trivially_copyable_v<border::MappedFile>);
    std::vector<uint64_t> words(files.size_bytes() / sizeof(uint64_t));
    std::memcpy(words.data(), files.data(), files.size_bytes());
    tell({static_cast<uint64_t>(Change::kImage), process, files.size()}, words);
  }
  add(process);
  processes_[process]->regions[0] = {kPages, own_name(process, 0), Kind::kOwn, {}};
  for (const border::MappedFile& file : files) set_object(process, file);
}

void MemoryNames::add_copy(uint32_t process, uint32_t parent) {
  if (!knows(parent)) return add_image(process, {});
  tell({static_cast<uint64_t>(Change::kCopy), process, parent});
  add(process);
  Process& from = *processes_[parent];
  Process& to = *processes_[process];
  to.regions = from.regions;
  for (auto& [begin, region] : to.regions)
    if (region.kind == Kind::kOwn) region.kind = Kind::kCopied;
  to.written = from.written;
  to.ancestors = from.ancestors;
  to.ancestors.push_back(parent);
  for (const uint32_t a : to.ancestors) {
    if (!knows(a)) continue;
    processes_[a]->copies.push_back(process);
    processes_[a]->separated.clear();
    forget_translations(a);  // their next writes are to be seen
  }
}

void MemoryNames::forget(uint32_t process) {
  if (!knows(process)) return;
  tell({static_cast<uint64_t>(Change::kForget), process, 0});
  for (const uint32_t a : processes_[process]->ancestors)
    if (knows(a)) std::erase(processes_[a]->copies, process);
  processes_[process].reset();
  storage_[process].reset();
  buffers_[process] = nullptr;
}

void MemoryNames::forget_translations(uint32_t process) { storage_[process]->fill({{kNoPage, kNoPage}, 0}); }

const MemoryNames::Region& MemoryNames::region_of(const Process& p, uint64_t page) {
  return std::prev(p.regions.upper_bound(page))->second;
}

uint64_t MemoryNames::name_of(const Process& p, uint64_t page) {
  const auto region = std::prev(p.regions.upper_bound(page));
  if (region->second.kind == Kind::kCopied)
    if (const auto w = p.written.find(page); w != p.written.end()) return w->second;
  return (region->second.name + (page - region->first)) % kPages;
}

uint64_t MemoryNames::look_up(uint32_t process, uint64_t page, bool write) {
  Process& p = *processes_[process];
  const Kind kind = region_of(p, page).kind;
  uint64_t name = name_of(p, page);
  const uint64_t own = own_name(process, page);
  if (write && kind != Kind::kShared) {
    if (name != own) {
      p.written[page] = name = own;  // the copy is this process's, what it was stays with the others
    } else if (!p.copies.empty() && p.separated.insert(page).second) {
      separate_page(process, page, name);
    }
  }
  const bool writes_need_no_look = write || kind == Kind::kShared || (name == own && p.copies.empty());
  Translation& t = (*storage_[process])[page % kTranslations];
  t.page[0] = page;
  t.page[1] = writes_need_no_look ? page : kNoPage;
  t.distance = (name - page) << kPageShift;
  return t.distance;
}

// The owner writes a page: it keeps the name, those who had it by a fork get their copies.
void MemoryNames::separate_page(uint32_t process, uint64_t page, uint64_t name) {
  for (const uint32_t copy : processes_[process]->copies) {
    Process& c = *processes_[copy];
    if (name_of(c, page) != name || region_of(c, page).kind != Kind::kCopied) continue;
    c.written[page] = own_name(copy, page);
    (*storage_[copy])[page % kTranslations] = {{kNoPage, kNoPage}, 0};
  }
}

// The same for pages that the owner is about to use for something else, or nothing.
void MemoryNames::separate_range(uint32_t process, uint64_t begin, uint64_t end) {
  for (const uint32_t copy : processes_[process]->copies) {
    Process& c = *processes_[copy];
    bool changed = false;
    for (auto at = std::prev(c.regions.upper_bound(begin)); at != c.regions.end() && at->first < end; ++at) {
      if (at->second.kind != Kind::kCopied || at->second.name != own_name(process, at->first)) continue;
      const uint64_t from = std::max(at->first, begin);
      cut_at(c.regions, end);
      cut_at(c.regions, from);
      at = c.regions.find(from);
      at->second.kind = Kind::kOwn, at->second.name = own_name(copy, from);
      changed = true;
    }
    const auto separate = [&](uint64_t page, uint64_t& name) {
      if (name == own_name(process, page)) name = own_name(copy, page), changed = true;
    };
    if (end - begin < c.written.size()) {
      for (uint64_t page = begin; page < end; ++page)
        if (const auto w = c.written.find(page); w != c.written.end()) separate(page, w->second);
    } else {
      for (auto& [page, name] : c.written)
        if (page >= begin && page < end) separate(page, name);
    }
    if (changed) forget_translations(copy);
  }
}

void MemoryNames::cut_at(Regions& regions, uint64_t page) {
  if (page >= kPages) return;
  const auto at = std::prev(regions.upper_bound(page));
  if (at->first == page) return;
  Region rest = at->second;
  rest.name = (rest.name + (page - at->first)) % kPages;
  at->second.end = page;
  regions[page] = rest;
}

// One region instead of two where what is mapped goes on: programs that map and unmap all the time do not make the
// table grow.
void MemoryNames::join_at(Regions& regions, uint64_t page) {
  const auto at = regions.find(page);
  if (at == regions.end() || at == regions.begin()) return;
  Region& before = std::prev(at)->second;
  const Region& r = at->second;
  if (before.kind != r.kind || before.object != r.object ||
      (before.name + (page - std::prev(at)->first)) % kPages != r.name)
    return;
  before.end = r.end;
  regions.erase(at);
}

void MemoryNames::set(uint32_t process, uint64_t begin, const Region& region) {
  Process& p = *processes_[process];
  const uint64_t end = region.end;
  if (begin >= end || end > kPages) return;
  const std::vector<Object> borrowed = process == 0 ? borrowed_in(begin, end) : std::vector<Object>{};
  if (processes_.size() > 1)
    for (const Object& object : borrowed) settle(object);  // others may go on with it
  separate_range(process, begin, end);
  cut_at(p.regions, begin);
  cut_at(p.regions, end);
  p.regions.erase(p.regions.lower_bound(begin), p.regions.lower_bound(end));
  p.regions[begin] = region;
  join_at(p.regions, end);
  join_at(p.regions, begin);
  if (end - begin < p.written.size())
    for (uint64_t page = begin; page < end; ++page) p.written.erase(page);
  else
    std::erase_if(p.written, [&](const auto& w) { return w.first >= begin && w.first < end; });
  for (const Object& object : borrowed)
    if (const auto b = borrowed_.find(object); b != borrowed_.end() && !has_borrowed(p, object, b->second)) borrowed_.erase(b);
  forget_translations(process);
}

void MemoryNames::set_own(uint32_t process, uint64_t begin, uint64_t end) {
  set(process, begin, {end, own_name(process, begin), Kind::kOwn, {}});
}

// No name comes again: lines of what had it may be in the caches.
uint64_t MemoryNames::new_object_name() {
  require_names(processes_.size(), named_ + 1);
  const uint64_t number = named_++;
  if (number < kObjectsOfOwnTags) return kFirstObjectName + number * kPartPages;
  const uint64_t later = number - kObjectsOfOwnTags;
  const uint64_t tag = kFirstObjectTag - 1 - later / kObjectsOfHalf;
  return (tag << kProcessShift) + kHalfPages + later % kObjectsOfHalf * kPartPages;
}

// Shared memory without a file has a number of its own for each mmap, which is not asked for again: where it goes from
// there, its name goes with it.
uint64_t MemoryNames::object_name(const Object& object) {
  if (object.device == border::kSharedMemoryDevice) return new_object_name();
  const auto known = objects_.find(object);
  return known != objects_.end() ? known->second : objects_[object] = new_object_name();
}

void MemoryNames::set_object(uint32_t process, const border::MappedFile& file) {
  const uint64_t end = pages_of(file.end);
  uint64_t at = file.begin >> kPageShift, page = file.offset >> kPageShift;
  while (at < end) {
    const uint64_t in_part = page % kPartPages, pages = std::min(end - at, kPartPages - in_part);
    const Object object{file.device, file.number, page >> kPartShift};
    uint64_t name = at;
    if (plain_ && process == 0 && file.shared && !has(*processes_[0], object)) {
      borrowed_[object] = {at, at + pages, at - in_part};
    } else {
      settle(object);
      name = object_name(object) + in_part;
    }
    set(process, at, {at + pages, name, file.shared ? Kind::kShared : Kind::kCopied, object});
    at += pages, page += pages;
  }
  if (file.shared && plain_) plain_ = !is_mapped_twice(*processes_[process], file.begin >> kPageShift);
}

// Shared memory at two places of one process: generated code is often written through another mapping.
bool MemoryNames::is_mapped_twice(const Process& p, uint64_t page) {
  const auto r = std::prev(p.regions.upper_bound(page));
  const auto end_of_names = [](const auto& region) { return region.second.name + (region.second.end - region.first); };
  return std::any_of(p.regions.begin(), p.regions.end(), [&](const auto& o) {
    return o.first != r->first && o.second.kind == Kind::kShared && o.second.name < end_of_names(*r) &&
           r->second.name < end_of_names(o);
  });
}

bool MemoryNames::has(const Process& p, const Object& object) {
  if (object.device == border::kSharedMemoryDevice) return false;  // each has a number of its own
  return std::any_of(p.regions.begin(), p.regions.end(), [&](const auto& region) { return region.second.object == object; });
}

bool MemoryNames::is_borrowed(const Region& region) { return region.kind == Kind::kShared && region.name < kHalfPages; }

bool MemoryNames::has_borrowed(const Process& p, const Object& object, const Borrowed& range) {
  for (auto at = std::prev(p.regions.upper_bound(range.begin)); at != p.regions.end() && at->first < range.end; ++at)
    if (at->second.object == object && is_borrowed(at->second)) return true;
  return false;
}

// It gets a name of its own, in all processes: lines of what had the other may be in the caches.
void MemoryNames::settle(const Object& object) {
  const auto borrowed = borrowed_.find(object);
  if (borrowed == borrowed_.end()) return;
  std::optional<uint64_t> name;
  for (uint32_t process = 0; process < processes_.size(); ++process) {
    if (!knows(process)) continue;
    bool changed = false;
    Regions& regions = processes_[process]->regions;
    for (auto at = std::prev(regions.upper_bound(borrowed->second.begin)); at != regions.end() && at->first < borrowed->second.end; ++at) {
      Region& region = at->second;
      if (region.object != object || !is_borrowed(region)) continue;
      if (!name) name = object_name(object);
      region.name = *name + (region.name - borrowed->second.first);
      changed = true;
    }
    if (changed) forget_translations(process);
  }
  borrowed_.erase(borrowed);
}

// Of the first process.
std::vector<MemoryNames::Object> MemoryNames::borrowed_in(uint64_t begin, uint64_t end) const {
  std::vector<Object> objects;
  if (borrowed_.empty()) return objects;
  const Regions& regions = processes_[0]->regions;
  for (auto at = std::prev(regions.upper_bound(begin)); at != regions.end() && at->first < end; ++at)
    if (is_borrowed(at->second)) objects.push_back(at->second.object);
  return objects;
}

void MemoryNames::event(uint32_t process, border::Event event, std::span<const uint64_t> payload) {
  if (event != border::Event::kMappingChange || payload.size() < 11 || !knows(process)) return;
  tell({static_cast<uint64_t>(Change::kEvent), process, static_cast<uint64_t>(event)}, payload);
  const uint64_t result = payload[1], *a = payload.data() + 2;
  switch (payload[0]) {
    case SYS_mmap: {
      const uint64_t bytes = pages_of(a[1]) << kPageShift;
      border::MappedFile file{result, result + bytes, a[5], payload[9], payload[10], (a[3] & MAP_TYPE) != MAP_PRIVATE};
      if (file.shared && (a[3] & MAP_ANONYMOUS) != 0)
        file.device = border::kSharedMemoryDevice, file.number = unnamed_++;
      if (file.device == border::kNoDevice) return set_own(process, result >> kPageShift, pages_of(result + bytes));
      return set_object(process, file);
    }
    case SYS_munmap:
      return set_own(process, a[0] >> kPageShift, pages_of(a[0] + a[1]));
    case SYS_mremap:
      return move(process, payload);
    case SYS_shmat:
      return set_object(process, {result, result + a[3], 0, border::kSegmentDevice, a[0], true});
    case SYS_shmdt:
      return detach(process, a[0] >> kPageShift);
    default:
      return;
  }
}

// What is at the new place goes on as it was at the old one: the same file, the same copies.
void MemoryNames::move(uint32_t process, std::span<const uint64_t> payload) {
  Process& p = *processes_[process];
  const uint64_t from = payload[2] >> kPageShift, old_pages = pages_of(payload[3]), pages = pages_of(payload[4]);
  const uint64_t to = payload[1] >> kPageShift;
  if (const Region& moved = region_of(p, from); is_borrowed(moved)) settle(Object{moved.object});
  const Region region = region_of(p, from);
  const uint64_t name = (region.name + (from - std::prev(p.regions.upper_bound(from))->first)) % kPages;
  const bool leaves_old = (payload[5] & MREMAP_DONTUNMAP) != 0 || old_pages == 0;
  std::vector<uint64_t> written;
  for (const auto& [page, ignored] : p.written)
    if (page >= from && page - from < std::min(old_pages, pages)) written.push_back(page - from);
  if (to == from) {
    if (pages < old_pages) return set_own(process, from + pages, from + old_pages);
    if (region.object.device != 0)
      set(process, from + old_pages, {from + pages, (name + old_pages) % kPages, region.kind, region.object});
    else
      set_own(process, from + old_pages, from + pages);
    return;
  }
  if (!leaves_old) set_own(process, from, from + old_pages);
  if (region.object.device == 0) return set_own(process, to, to + pages);
  set(process, to, {to + pages, name, region.kind, region.object});
  for (const uint64_t page : written) p.written[to + page] = own_name(process, to + page);
  if (region.kind == Kind::kShared && leaves_old) plain_ = false;
}

void MemoryNames::detach(uint32_t process, uint64_t page) {
  const Region region = region_of(*processes_[process], page);
  if (region.object.device == border::kSegmentDevice) set_own(process, page, region.end);
}

}  // namespace simrun::channel

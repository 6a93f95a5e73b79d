// What the model calls a byte of memory: an address that is the same for all processes that share the byte, and
// different for all that do not. While there is one process, its own addresses. Kept up with the mapping calls in the
// streams, so it depends on the order of the streams alone. docs/shared-memory.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "instr/border/mapped_file.h"
#include "instr/border/stream.h"

namespace simrun::channel {

class MemoryNames {
 public:
  static constexpr uint32_t kPageShift = 12;
  static constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;

  // What a direct-mapped table in front of the others has for each process, by page number modulo kTranslations: page[w]
  // says for which page reads (0) or writes (1) need no look, and `distance` is what distance() says of it.
  struct alignas(32) Translation {
    uint64_t page[2];
    uint64_t distance;
  };
  static constexpr uint64_t kTranslations = 1024;

  // `objects`: so many files and pieces of shared memory have names already, for tests.
  explicit MemoryNames(uint64_t objects = 0);
  MemoryNames(const MemoryNames& other);  // but it tells nobody of changes
  MemoryNames& operator=(MemoryNames&&) = default;
  ~MemoryNames();

  // Files and segments that would have the same name again; for tests.
  size_t objects_kept() const { return objects_.size(); }

  // These and event() throw StreamError when there are no names left.
  // A process with an image of its own, in which `files` are mapped. `process`: its index, before its first reference.
  void add_image(uint32_t process, std::span<const border::MappedFile> files);
  // A process that `parent`, which is known, has just forked: before the next reference of either.
  void add_copy(uint32_t process, uint32_t parent);
  // It has ended, or executed something else.
  void forget(uint32_t process);
  bool knows(uint32_t process) const { return process < processes_.size() && processes_[process] != nullptr; }

  // An event of a thread of the process; takes notice of Event::kMappingChange only.
  void event(uint32_t process, border::Event event, std::span<const uint64_t> payload);

  // Who keeps other names like these: told of all that changes them but references, each as words for make_change().
  void tell_of_changes(std::function<void(std::span<const uint64_t>)> tell) { tell_ = std::move(tell); }
  // Throws StreamError.
  void make_change(std::span<const uint64_t> change);

  // True: every name is the address itself, so nobody need ask. Once false, false for ever.
  bool is_plain() const { return plain_; }

  // What is to be added (modulo 2^64) to `address` to get its name; the same for all addresses of the page.
  uint64_t distance(uint32_t process, uint64_t address, bool write) {
    if (const auto known = known_distance(process, address, write)) [[likely]]
      return *known;
    return look_up(process, address >> kPageShift, write);
  }
  // The same, when asking would change nothing and takes no look.
  std::optional<uint64_t> known_distance(uint32_t process, uint64_t address, bool write) const {
    const uint64_t page = address >> kPageShift;
    const Translation& t = buffers_[process][page % kTranslations];
    return t.page[write] == page ? std::optional(t.distance) : std::nullopt;
  }
  // For who looks there in code of its own and asks distance() for what is not there: valid until a process is added or
  // forgotten.
  const Translation* translations(uint32_t process) const { return buffers_[process]; }

 private:
  using Buffer = std::array<Translation, kTranslations>;

  struct Object {
    uint64_t device, number, part;
    auto operator<=>(const Object&) const = default;
  };
  enum class Kind : uint8_t {
    kOwn,     // private, named for this process
    kCopied,  // private, but until this process writes a page that page is someone else's too: a parent's, a file's
    kShared,
  };
  // What the first process maps shared while it is alone borrows its addresses for names, which caches know it by: until somebody maps the same
  // again, or the first process something else there.
  struct Region {
    uint64_t end = 0;   // page after the last
    uint64_t name = 0;  // of the first page; the others follow
    Kind kind = Kind::kOwn;
    Object object{};  // device 0: none
  };
  using Regions = std::map<uint64_t, Region>;  // by first page; they cover all pages
  // Where it is mapped, in all processes that have it by such names; the name of the object's first page, which may be no page's.
  struct Borrowed {
    uint64_t begin, end, first;
  };
  struct Process {
    Regions regions;
    // Of pages in kCopied regions that have been written, here or before the fork.
    std::unordered_map<uint64_t, uint64_t> written;
    // Of own pages: since the last fork, so that those who share it have been separated.
    std::unordered_set<uint64_t> separated;
    std::vector<uint32_t> copies;  // living processes that were forked from this one, and from those
    std::vector<uint32_t> ancestors;
  };

  static uint64_t own_name(uint32_t process, uint64_t page);
  uint64_t new_object_name();
  uint64_t look_up(uint32_t process, uint64_t page, bool write);
  static const Region& region_of(const Process& p, uint64_t page);
  static uint64_t name_of(const Process& p, uint64_t page);
  void separate_page(uint32_t process, uint64_t page, uint64_t name);
  void separate_range(uint32_t process, uint64_t begin, uint64_t end);
  static void cut_at(Regions& regions, uint64_t page);
  static void join_at(Regions& regions, uint64_t page);
  void set(uint32_t process, uint64_t begin, const Region& region);
  void set_own(uint32_t process, uint64_t begin, uint64_t end);
  void set_object(uint32_t process, const border::MappedFile& file);
  void move(uint32_t process, std::span<const uint64_t> payload);
  void detach(uint32_t process, uint64_t page);
  static bool is_mapped_twice(const Process& p, uint64_t page);
  static bool has(const Process& p, const Object& object);
  static bool has_borrowed(const Process& p, const Object& object, const Borrowed& range);
  static bool is_borrowed(const Region& region);
  void settle(const Object& object);
  std::vector<Object> borrowed_in(uint64_t begin, uint64_t end) const;
  uint64_t object_name(const Object& object);
  void add(uint32_t process);
  void tell(std::initializer_list<uint64_t> head, std::span<const uint64_t> rest = {});
  void forget_translations(uint32_t process);

  std::function<void(std::span<const uint64_t>)> tell_;  // null: nobody
  bool plain_ = true;
  std::vector<std::unique_ptr<Process>> processes_;  // null: unknown or forgotten
  std::vector<std::unique_ptr<Buffer>> storage_;
  std::vector<Translation*> buffers_;   // by process
  std::map<Object, uint64_t> objects_;  // names of first pages; not of shared memory that nobody can map again
  std::map<Object, Borrowed> borrowed_;
  uint64_t named_ = 0;                  // objects so far
  uint64_t unnamed_ = 0;                // shared memory without a file so far
};

}  // namespace simrun::channel

// The simulated memory hierarchy of one machine: the interface of sim/ to whoever has references to simulate. One
// thread uses one Hierarchy. The hit path in level 1 is inline here; behind it is sim/coherence/coherent_tree.h.
//
// What is counted, and what each word means: docs/cache-model.md. Bad machines throw UserError at construction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/cache/cache.h"
#include "sim/coherence/coherent_tree.h"
#include "sim/detail/details.h"
#include "sim/stats/statistics.h"
#include "sim/tlb/first_touch.h"
#include "sim/tlb/tlb.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

class Hierarchy {
 public:
  // Of a slice it takes the lines whose number is slice.number modulo slice.count, by number / count.
  explicit Hierarchy(const MachineConfig& config, Slice slice = {});

  uint32_t cores() const { return config_.cores; }
  uint32_t line_bytes() const { return config_.line_bytes; }
  const MachineConfig& config() const { return config_; }

  // One reference of `core` (below cores()) within one line. `line` = byte address / line_bytes(), with an
  // address-space id in its top bits if there are several spaces.
  void access_line(uint32_t core, Access kind, uint64_t line);
  // A line of a reference that began on another line.
  void access_further_line(uint32_t core, Access kind, uint64_t line) {
    continue_reference(core, kind);
    access_line(core, kind, line);
  }
  // One reference to the bytes [address, address + bytes): an access to each line it touches, lowest first. No bytes:
  // the line of `address`. A range that would pass the end of the address space is cut there.
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes);

  // For who makes many references of one core in a row: what an access looks at first, held in registers, and counts
  // apart, many at a time. Valid as long as the Hierarchy is not moved. Saves 2 % of simrun sim on gzip (median of 16).
  //
  // A reference to one line of a Side: when has_tlb() its page is looked up, by has_page() or else look_up_page(), unless
  // the core's reference before it of that side had that page. If the line answers() then and the stride prefetcher
  // notes() it, it is done; else access_counted_line(). One to several lines: access_counted() alone.
  class Hits {
   public:
    // False: addresses are translated, or the prefetchers are of a rare kind. Use access() then.
    bool usable() const { return usable_; }
    // The core has TLBs or the machine prefetchers.
    bool sees_all() const { return has_tlb_ || has_prefetchers_; }
    bool has_tlb() const { return has_tlb_; }
    uint32_t line_bytes() const { return 1u << line_shift_; }
    uint32_t line_shift() const { return line_shift_; }
    uint32_t page_shift() const { return page_shift_; }
    uint64_t page_of(uint64_t line) const { return line >> page_shift_; }

    // A core's way into level 1, for fetches or for data.
    struct Side {
      Cache::Shortcut lines = {}, pages = {};
      prefetch::Stride* stride = nullptr;  // null: nobody wants to see what hits; `pc` is of a machine that wants_pc()

      bool has_page(uint64_t page, uint64_t& clock) const {
        Cache::Recent& recent = pages.find(page);
        if (!recent.answers(page, false)) [[unlikely]]
          return false;
        recent.used = ++clock;
        return true;
      }
      bool answers(uint64_t line, bool write) const { return find(lines, line, write); }
      // The same without making the reference.
      bool has_line(uint64_t line, bool write) const { return lines.find(line).answers(line, write); }
      bool has_page(uint64_t page) const { return pages.find(page).answers(page, false); }
      // The page is there.
      void use_page(uint64_t page) const { pages.find(page).used = ++*pages.clock; }
      bool notes(uint64_t line, uint64_t pc) const { return stride == nullptr || stride->notes(line, pc); }
      // Of references to these lines (one or two) in turns, however many, notes() would be true and change nothing.
      bool stays_at(std::span<const uint64_t> turns, uint64_t pc) const {
        return stride == nullptr || stride->stays_at(turns, pc);
      }
    };
    const Side& fetches() const { return fetches_; }
    const Side& data() const { return data_; }
    // One clock for both sides, lines and pages, for who keeps it in a register: a hit is `used = ++clock` then.
    // set_clock() before anybody else makes an access, clock() after it.
    uint64_t clock() const {
      const uint64_t lines = std::max(*fetches_.lines.clock, *data_.lines.clock);
      return has_tlb_ ? std::max({lines, *fetches_.pages.clock, *data_.pages.clock}) : lines;
    }
    void set_clock(uint64_t clock) const {
      *fetches_.lines.clock = *data_.lines.clock = clock;
      if (has_tlb_) *fetches_.pages.clock = *data_.pages.clock = clock;
    }
    // References that this answered, or that access_counted() got or will get. Read-modify-writes are neither loads nor
    // stores here.
    void count(uint64_t fetches, uint64_t loads, uint64_t stores, uint64_t modifications) const {
      fetch_counts_[index(Access::kFetch)] += fetches;
      data_counts_[index(Access::kLoad)] += loads;
      data_counts_[index(Access::kStore)] += stores;
      data_counts_[index(Access::kReadModifyWrite)] += modifications;
    }

   private:
    friend class Hierarchy;
    friend class ReferenceLister;  // sim/parallel: its filter in place of level 1
    static bool find(const Cache::Shortcut& shortcut, uint64_t line, bool write) {
      Cache::Recent& recent = shortcut.find(line);
      if (!recent.answers(line, write)) [[unlikely]]
        return false;
      recent.used = ++*shortcut.clock;
      return true;
    }
    Side fetches_, data_;
    uint64_t* fetch_counts_ = nullptr;
    uint64_t* data_counts_ = nullptr;
    uint32_t line_shift_ = 0, page_shift_ = 0;
    bool usable_ = false, has_tlb_ = false, has_prefetchers_ = false;
  };
  Hits hits(uint32_t core);
  // As access(), and access_line() behind the TLB, of a reference that Hits::count() counted or will count. `ahead`: how
  // many references of the core have been counted that come after it; less those that have been made, and not counted.
  void access_counted(uint32_t core, Access kind, uint64_t address, uint32_t bytes, uint64_t ahead);
  void access_counted_line(uint32_t core, Access kind, uint64_t line, uint64_t ahead);
  // The same of a core that nobody sees all of.
  void access_counted_line(uint32_t core, Access kind, uint64_t line) {
    access_in_full(ports_[2 * core + (kind != Access::kFetch)], core, kind, line);
  }
  // As access(), of a reference that was not counted, among others that were.
  void access_amid(uint32_t core, Access kind, uint64_t address, uint32_t bytes, uint64_t ahead) {
    ahead_ = ahead;
    access(core, kind, address, bytes);
    ahead_ = 0;
  }
  // The same of all that is accessed from now on; 0 in the end.
  void set_ahead(uint64_t ahead) { ahead_ = ahead; }
  void look_up_page(uint32_t core, bool is_fetch, uint64_t page) { tlbs_[core].look_up(is_fetch, page); }

  // From now on the references of `core` are those of `thread`, a small number of the caller's: for
  // Statistics::threads.
  void run_thread(uint32_t core, uint32_t thread);

  void tell_of_requests(RequestObserver* observer) {
    tree_.tell_of_requests(observer);
    choose_lru();
  }
  // From now on; null: no longer. Makes misses slower.
  void tell_of_memory(MemoryObserver* observer) {
    tree_.tell_of_memory(observer);
    choose_lru();
  }

  // From now on, tables per line, instruction and thread, misses by class: only of references made by
  // access_detailed(), so call it before the first reference. Costs some 70 ns for each.
  void keep_details();
  // Null unless they are kept.
  const Details* details() const { return details_.get(); }
  void tell_of_sites(SiteObserver* observer) { details_->tell_of_sites(observer); }
  // No reference with this Origin::process comes any more: details that no report needs go. Only with details.
  void forget_process(uint32_t process) { details_->forget_process(process); }
  // A prefetcher wants to know which instruction makes a reference: set_pc() before it, unless access_detailed() is
  // used.
  bool wants_pc() const { return wants_pc_; }
  void set_pc(uint64_t pc) { tree_.set_pc(pc); }
  // As access(), with who made the reference.
  void access_detailed(uint32_t core, Access kind, uint64_t address, uint32_t bytes, const Origin& origin);

  // The next access is to a line of a reference that began on another line.
  void continue_reference(uint32_t core, Access kind) {
    ++ports_[2 * core + (kind != Access::kFetch)].extra_lines[index(kind)];
  }
  // What it holds, without counts, and the same of an earlier one of the same machine into this one, which had no
  // access yet. Not with details. Throws UserError when the bytes are not of such a machine.
  std::vector<uint8_t> state() const;
  void set_state(std::vector<uint8_t> bytes);

  // All counts since construction. May be called at any time between accesses.
  Statistics statistics() const;
  // Single writer, inclusion, directory equal to contents, recency orders. On false, *why (if given) says what is
  // broken.
  bool check_invariants(std::string* why = nullptr) const { return tree_.check_invariants(why); }

 private:
  friend class GroupReplay;  // sim/parallel: many references at once
  // How the accesses of a port go on that its shortcut does not answer.
  enum class Way : uint8_t {
    kLru8,     // LRU, or what else goes by times of last use, with at most 8 ways
    kLru,      // more ways
    kPolicy,   // another policy
    kThrough,  // no shortcut: a TLB, a translation or a prefetcher of level 1 sees every access
  };
  // A core's way into level 1, for fetches or for data.
  struct alignas(64) Port {
    Cache::Shortcut shortcut = {};  // of the cache: here for one load less; answers nothing with Way::kThrough
    Cache* cache = nullptr;
    Cache::Shortcut lines = {};                // of the cache, always
    prefetch::Stride* stride = nullptr;  // a prefetcher of level 1: wants to see an access, unless it knows it
    bool several_strides = false;        // then it is one of them, and all is shown to them
    bool only_stride = false;            // level 1 has no other prefetcher
    PrefetchUnit* unit = nullptr;        // of level 1; null: no prefetchers
    bool is_known(uint64_t line, uint64_t pc) const {
      return stride == nullptr || (!several_strides && stride->knows(line, pc));
    }
    // A hit: nothing comes of it.
    bool notes(Access kind, uint64_t line, uint64_t pc) const {
      if (stride == nullptr) return true;
      return !several_strides && (kind == Access::kPrefetch ? stride->knows(line, pc) : stride->notes(line, pc));
    }
    NodeId node = 0;
    Way way = Way::kLru;
    const CoherentTree::Way* plain = nullptr;  // CoherentTree::miss_plain() may be asked
    // Null: not this machine.
    void (*access_lru)(Hierarchy&, Port&, uint32_t core, Access kind, uint64_t line) = nullptr;
    // With kThrough, of an access that the shortcut does not answer: true if it was a miss that level 2 answers, and is done. Null: not
    // this machine.
    bool (*take_observed)(Hierarchy&, Port&, uint32_t core, Access kind, uint64_t line) = nullptr;
    CoherentTree::LruWay lru;  // of either
    // Misses that access_lru() or take_observed() made, by who answered; what else they count is added by count_answered().
    mutable uint64_t answered[4][kAccessKinds] = {};
    mutable RequestCounters counts;
    mutable uint64_t served[kMaxLevels + 1][kAccessKinds] = {};  // misses, by the level that answered; the last: memory
    uint64_t handed_over[kAccessKinds] = {};             // misses, answered by another cache
    uint64_t upgrades[kMaxLevels + 1] = {};
    uint64_t extra_lines[kAccessKinds] = {};  // lines beyond the first of references that cross lines
  };

  void archive(StateArchive& a);
  // An access that is counted, but may change something.
  void access_in_full(Port& port, uint32_t core, Access kind, uint64_t line);
  void access_array(Port& port, uint32_t core, Access kind, uint64_t line);
  void access_through(Port& port, uint32_t core, Access kind, uint64_t line);
  void access_behind_tlb(Port& port, uint32_t core, Access kind, uint64_t line);
  void access_observed(Port& port, uint32_t core, Access kind, uint64_t line);
  void show_miss(Port& port, uint32_t core, Access kind, uint64_t line);
  void send_ports_through();
  CoherentTree::Clock clock_of(uint32_t core) const;
  void prefetch();
  void access_by_policy(Port& port, uint32_t core, Access kind, uint64_t line);
  void use_line(Port& port, uint32_t core, Access kind, uint64_t line, Slot slot);
  template <uint32_t kPadded>
  void access_ways(Port& port, uint32_t core, Access kind, uint64_t line);
  void access_8_ways(Port& port, uint32_t core, Access kind, uint64_t line);
  void first_write(Port& port, uint32_t core, Access kind, Slot slot);
  void miss_in_level1(Port& port, uint32_t core, Access kind, uint64_t line);
  // Of the usual machine, for as long as nobody watches (access_lru.cpp). Not of flushes.
  template <uint32_t kWays2, uint32_t kWays3>
  static void access_lru(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line);
  static void find_unguessed(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line);
  template <uint32_t kWays2, uint32_t kWays3>
  static void access_wide(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line);
  template <uint32_t kWays2, uint32_t kWays3>
  static void take_lru(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line, size_t found);
  template <uint32_t kWays2, uint32_t kWays3>
  static void fetch_lru(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line);
  template <uint32_t kWays2, bool kHasParent>
  static bool take_observed(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line);
  void count_answer(Port& port, uint32_t core, Access kind, CoherentTree::Answer answer);
  void choose_lru();
  static void count_answered(const Port& port);
  void count_transfer(Port& port, uint32_t core, Access kind);
  void access_lines(uint32_t core, Access kind, uint64_t first, uint64_t last);
  CacheInstanceStatistics instance_statistics(NodeId id) const;
  CoreStatistics core_statistics(uint32_t core) const;
  RequestStatistics port_statistics(NodeId id, uint32_t core) const;
  std::vector<CoreStatistics> thread_statistics() const;

  MachineConfig config_;
  uint32_t line_shift_;
  CoherentTree tree_;
  std::vector<std::vector<uint64_t>> transfers_;  // [to core][from core], a row is empty until it is needed
  std::unique_ptr<Details> details_;
  struct Running {
    uint32_t thread = 0;
    CoreStatistics before;  // the core's counts when it began; empty `served`: no thread has been named
  };
  std::vector<Running> running_;         // by core; empty until a thread is named
  std::vector<CoreStatistics> threads_;  // by thread: what is no longer running_
  uint32_t page_shift_;                  // binary logarithm of the lines of a page
  std::vector<Tlb> tlbs_;                // by core; empty: none
  std::optional<FirstTouch> frames_;
  bool prefetches_ = false, wants_pc_ = false;
  uint64_t ahead_ = 0;       // of the references of the core under way, those that are counted, but come later
  std::vector<Port> ports_;  // [2 * core] for fetches, [2 * core + 1] for data
};

inline void Hierarchy::access_line(uint32_t core, Access kind, uint64_t line) {
  DCHECK(core < cores());
  Port& port = ports_[2 * core + (kind != Access::kFetch)];
  ++port.counts.accesses[index(kind)];
  Cache::Recent& recent = port.shortcut.find(line);
  if (recent.answers(line, is_write(kind)) && kind != Access::kFlush) [[likely]] {
    recent.used = ++*port.shortcut.clock;
    return;
  }
  access_in_full(port, core, kind, line);
}

inline void Hierarchy::access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
  const uint64_t first = address >> line_shift_;
  const uint64_t end = address + (bytes != 0 ? bytes - 1 : 0);
  const uint64_t last = end >> line_shift_;
  if (first == last) [[likely]]
    return access_line(core, kind, first);
  access_lines(core, kind, first, end < address ? ~uint64_t{0} >> line_shift_ : last);
}

}  // namespace simrun::sim

// References into the cache model. Here the engine's side and the model meet: neither knows the other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "cli/compiled_paths.h"
#include "cli/named_memory.h"
#include "cli/run_result.h"
#include "cli/run_watch.h"
#include "instr/channel/reference.h"
#include "instr/channel/stream_error.h"
#include "instr/channel/thread_statistics.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

// The first six kinds are the same in both; non-temporal accesses are simulated as ordinary ones.
inline sim::Access access_of(channel::ReferenceKind kind) {
  using channel::ReferenceKind;
  static constexpr std::array kAccess = {
      sim::Access::kFetch,    sim::Access::kLoad,  sim::Access::kStore, sim::Access::kReadModifyWrite,
      sim::Access::kPrefetch, sim::Access::kFlush, sim::Access::kLoad,  sim::Access::kStore};
  static_assert(kAccess[static_cast<size_t>(ReferenceKind::kFlush)] == sim::Access::kFlush);
  static_assert(kAccess[static_cast<size_t>(ReferenceKind::kNonTemporalStore)] == sim::Access::kStore);
  return kAccess[static_cast<size_t>(kind)];
}

// Without names (named_memory.h) processes have memories of their own: the model sees byte addresses with the number of
// the process in the top 16 bits (user addresses have 47). The first process keeps its addresses.
constexpr uint32_t kProcessShift = 48;
constexpr uint64_t untagged(uint64_t address) { return address & ((uint64_t{1} << kProcessShift) - 1); }

inline void require_tag(uint32_t process) {
  if (process >> (64 - kProcessShift) != 0) throw channel::CapacityError("more than 65536 processes, of whose shared memory nothing is known");
}

// What sim::Hierarchy::Hits is for.
template <class Model>
concept HasHits = requires(Model& m) {
  m.hits(0u);
};

// There may be TLBs and prefetchers, which see every access.
template <class Model>
concept HasWatchers = requires(Model& m) {
  m.set_ahead(uint64_t{});
};

// What a thread is called by: its core of as many, and its process above, of which there are names for 122,880 (docs/shared-memory.md).
constexpr uint32_t kHandleCoreBits = 12;
static_assert(sim::kMaxCores <= 1u << kHandleCoreBits);
inline uint32_t model_handle(const channel::ThreadReport& thread, uint32_t cores) {
  return core_of_thread(thread.core, cores) | thread.process << kHandleCoreBits;
}
constexpr uint32_t core_of_handle(uint32_t handle) { return handle & ((1u << kHandleCoreBits) - 1); }
constexpr uint32_t process_of_handle(uint32_t handle) { return handle >> kHandleCoreBits; }

// Model: sim::Hierarchy, or what has access_line(), access(), cores() and line_bytes() as that.
template <class Model>
class BasicModelSink {
 public:
  static constexpr bool kWantsReferences = true;

  // `watch`: null, or who is told how far the run is. `family`: as NamedMemory has it.
  explicit BasicModelSink(Model& model, RunWatch* watch = nullptr, const host::Family* family = nullptr)
      : model_(model),
        line_shift_(static_cast<uint32_t>(std::countr_zero(model.line_bytes()))),
        watch_(watch),
        memory_(family) {}
  // `names`: of the memory, kept up to date by the caller, who calls look_at_names() after each change.
  BasicModelSink(Model& model, channel::MemoryNames& names)
      : model_(model),
        line_shift_(static_cast<uint32_t>(std::countr_zero(model.line_bytes()))),
        watch_(nullptr),
        memory_(names) {}
  void look_at_names() {
    if (names_ == nullptr && memory_.names() != nullptr) compiled_.clear();  // it knows no names
    names_ = memory_.names();
  }
  bool has_names() const { return names_ != nullptr; }
  channel::MemoryNames* names() const { return names_; }  // null: none are needed
  void set_room_for_code(const CompiledPaths::Room& room) { room_for_code_ = room; }

  uint32_t start_thread(const channel::ThreadReport& thread) {
    memory_.start_thread(thread);
    look_at_names();
    if (names_ == nullptr) require_tag(thread.process);
    return model_handle(thread, model_.cores());
  }
  uint32_t run_on(const channel::ThreadReport& thread) {
    model_.run_thread(core_of_thread(thread.core, model_.cores()), thread.index);
    return start_thread(thread);
  }
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
    memory_.event(process(handle), event, payload);
    look_at_names();
  }
  void forget_process(uint32_t process) {
    memory_.forget_process(process);
    forget_paths(process);
  }
  void forget_paths(uint32_t process) {
    if (process < compiled_.size()) compiled_[process].reset();
  }
  void fetch(uint32_t handle, uint64_t line) {
    if (names_ != nullptr) [[unlikely]]
      line = ((line << line_shift_) + names_->distance(process(handle), line << line_shift_, false)) >> line_shift_;
    else
      line ^= uint64_t{process(handle)} << (kProcessShift - line_shift_);
    model_.access_line(core(handle), sim::Access::kFetch, line);
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    const sim::Access access = access_of(kind);
    in_pieces(handle, access, address, bytes,
              [&](uint64_t name, uint32_t size) { model_.access(core(handle), access, name, size); });
  }
  // Many references of one execution of a path at once.
  void plain(uint32_t handle, const channel::PlainReferences& path) requires HasHits<Model> {
    take_path(*this, handle, path);
  }
  // Many paths at once (channel/replay.h).
  template <class Take>
  [[gnu::always_inline]] bool take_together(uint32_t handle, Take take) requires HasHits<Model> {
    look_at_hits(handle);
    if (!hits_.usable()) return false;
    if constexpr (HasWatchers<Model>) {
      if (hits_.sees_all()) {
        WatchedWay way(*this, handle);
        take(way);
        return true;
      }
    }
    if (names_ != nullptr) [[unlikely]] {
      ShortWay<0, true> way(*this, handle);
      take(way);
    } else if (hits_.line_bytes() == 64) {
      ShortWay<6> way(*this, handle);
      take(way);
    } else {
      ShortWay<0> way(*this, handle);
      take(way);
    }
    return true;
  }
  // Iterations of a string instruction that stay in lines which level 1 has, and in pages that the TLB has: all are hits, no
  // time matters but that of the last, and a stride prefetcher learns nothing from them that it does not know.
  uint64_t iterations(uint32_t handle, std::span<const channel::StringReference> first, int64_t step, uint64_t most,
                      uint64_t pc) requires HasHits<Model>;
  // Behind the references of so many instructions.
  void advance(uint64_t instructions) {
    if (watch_ != nullptr) watch_->advance(instructions);
  }
  uint64_t until_stop() const { return watch_ == nullptr ? std::numeric_limits<uint64_t>::max() : watch_->next() - watch_->done(); }

 protected:
  static uint32_t core(uint32_t handle) { return core_of_handle(handle); }

  // `self`: this, as who knows whether the model wants to know of instructions.
  template <class Self>
  void take_path(Self& self, uint32_t handle, const channel::PlainReferences& path);

  Model& model_;

 private:
  static uint32_t process(uint32_t handle) { return process_of_handle(handle); }

  void look_at_hits(uint32_t handle) {
    if constexpr (requires { model_.work_for(0u); }) model_.work_for(core(handle));
    if (handle != hits_of_) [[unlikely]]
      get_hits(handle);
  }
  [[gnu::noinline]] void get_hits(uint32_t handle) {
    hits_of_ = handle;
    hits_ = model_.hits(core(handle));
  }
  // Null: the core's level 1 is not what the code is for.
  CompiledPaths* compiled(uint32_t process, const CompiledPaths::Level1& level1, uint64_t capacity) {
    if (compiled_.size() <= process) compiled_.resize(process + 1);
    std::unique_ptr<CompiledPaths>& code = compiled_[process];
    if (code == nullptr) code = std::make_unique<CompiledPaths>(level1, capacity, room_for_code_);
    return code->level1() == level1 ? code.get() : nullptr;
  }
  // put(name, bytes) of a reference; what it has on pages that are named otherwise is made here.
  template <class Put>
  [[gnu::always_inline]] void in_pieces(uint32_t handle, sim::Access access, uint64_t address, uint32_t bytes, Put put) {
    if (names_ == nullptr) [[likely]]
      return put(address ^ uint64_t{process(handle)} << kProcessShift, bytes);
    for_each_piece(*names_, process(handle), address, bytes, sim::is_write(access),
                   [&](uint64_t name, uint32_t size, uint64_t, bool goes_on) {
                     if (!goes_on) return put(name, size);
                     for (uint64_t line = name >> line_shift_; line <= (name + size - 1) >> line_shift_; ++line)
                       model_.access_further_line(core(handle), access, line);
                   });
  }
  // What a CompiledRun asks for a name that its table has not.
  template <class AnyWay>
  static uint64_t distance_for_code(CompiledRun* run, uint32_t is_write, uint64_t address) noexcept {
    auto* const way = static_cast<AnyWay*>(run->maker);
    return way->sink_.names_->distance(process(way->handle_), address, is_write != 0);
  }
  template <uint32_t kLineShift, bool kNamed = false>
  class ShortWay;
  class WatchedWay;
  // References of a ShortWay that need more than a look.
  [[gnu::noinline]] void access_line(uint32_t handle, channel::ReferenceKind kind, uint64_t line) {
    model_.access_counted_line(core(handle), access_of(kind), line);
  }
  // To several lines, or of a rare kind.
  [[gnu::noinline]] void access_bytes(uint32_t handle, const channel::Reference& r, uint64_t address) {
    const sim::Access access = access_of(r.kind);
    in_pieces(handle, access, address, r.bytes, [&](uint64_t name, uint32_t size) {
      if (access == sim::Access::kPrefetch || access == sim::Access::kFlush)
        return model_.access_amid(core(handle), access, name, size, 0);
      model_.access_counted(core(handle), access, name, size, 0);
    });
  }

  uint32_t line_shift_;
  RunWatch* watch_;
  channel::MemoryNames* names_ = nullptr;  // null: none are needed
  NamedMemory memory_;
  uint32_t hits_of_ = ~0u;  // a handle
  sim::Hierarchy::Hits hits_;
  std::vector<std::unique_ptr<CompiledPaths>> compiled_;  // by process
  CompiledPaths::Room room_for_code_;
};

template <class Model>
template <class Self>
[[gnu::always_inline]] inline void BasicModelSink<Model>::take_path(Self& self, uint32_t handle,
                                                                    const channel::PlainReferences& path) {
  const channel::Reference *const begin = path.references, *const end = begin + path.size;
  const bool taken = take_together(handle, [&](auto& way) {
    if constexpr (requires { way.plain(begin, end, path.words, path.pcs); })
      way.plain(begin, end, path.words, path.pcs);
    else
      way.plain(begin, end, path.words);
    way.count(path.counts);
  });
  if (taken) [[likely]]
    return;
  for (size_t i = 0; i < path.size; ++i) {
    const channel::Reference& r = path.references[i];
    channel::put(self, handle, r.kind, channel::evaluate(r, path.words), r.bytes, path.pcs[i]);
  }
}

template <class Model>
uint64_t BasicModelSink<Model>::iterations(uint32_t handle, std::span<const channel::StringReference> first,
                                           int64_t step, uint64_t most, uint64_t pc) requires HasHits<Model> {
  using Kind = channel::ReferenceKind;
  look_at_hits(handle);
  if (!hits_.usable()) return 0;
  const uint64_t line_bytes = hits_.line_bytes();
  for (const channel::StringReference& r : first) {
    const uint64_t place = r.address & (line_bytes - 1);
    const uint64_t in_line = step > 0 ? (line_bytes - place) / r.bytes : place / r.bytes + 1;
    if (place + r.bytes > line_bytes || r.kind > Kind::kReadModifyWrite) return 0;
    most = std::min(most, in_line);
  }
  std::array<uint64_t, 2> lines;
  for (size_t i = 0; i < first.size(); ++i) {
    const channel::StringReference& r = first[i];
    const bool writes = r.kind >= Kind::kStore;
    uint64_t name = r.address ^ uint64_t{process(handle)} << kProcessShift;
    if (names_ != nullptr) {  // a look could change the name of the reference before
      const auto distance = names_->known_distance(process(handle), r.address, writes);
      if (!distance) return 0;
      name = r.address + *distance;
    }
    lines[i] = name >> hits_.line_shift();
    if (!hits_.data().has_line(lines[i], writes)) return 0;
    if (hits_.has_tlb() && !hits_.data().has_page(hits_.page_of(lines[i]))) return 0;
  }
  if (!hits_.data().stays_at({lines.data(), first.size()}, pc)) return 0;
  for (size_t i = 0; i < first.size(); ++i) {
    const channel::StringReference& r = first[i];
    hits_.data().answers(lines[i], r.kind >= Kind::kStore);
    if (hits_.has_tlb()) hits_.data().use_page(hits_.page_of(lines[i]));
    hits_.count(0, r.kind == Kind::kLoad ? most : 0, r.kind == Kind::kStore ? most : 0,
                r.kind == Kind::kReadModifyWrite ? most : 0);
  }
  return most;
}

using ModelSink = BasicModelSink<sim::Hierarchy>;

// The same for machines whose prefetchers go by instruction.
template <class Model>
class PcModelSink final : public BasicModelSink<Model> {
 public:
  static constexpr bool kWantsPc = true;
  using BasicModelSink<Model>::BasicModelSink;

  void plain(uint32_t handle, const channel::PlainReferences& path) requires HasHits<Model> {
    this->take_path(*this, handle, path);
  }
  void fetch(uint32_t handle, uint64_t line, uint64_t pc) {
    this->model_.set_pc(pc);
    BasicModelSink<Model>::fetch(handle, line);
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    this->model_.set_pc(pc);
    BasicModelSink<Model>::data(handle, kind, address, bytes);
  }
};

}  // namespace simrun::cli

#include "cli/short_way.h"
#include "cli/watched_way.h"

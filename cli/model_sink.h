// References into the cache model. Here the engine's side and the model meet: neither knows the other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
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

// Paths of one thread in a row: what level 1 is looked up by and its clock are in registers.
template <class Model>
template <uint32_t kLineShift, bool kNamed>  // 0: as the machine has it; memory has names
class BasicModelSink<Model>::ShortWay {
 public:
  ShortWay(BasicModelSink& sink, uint32_t handle)
      : sink_(sink),
        handle_(handle),
        fetches_(sink.hits_.fetches().lines),
        data_(sink.hits_.data().lines),
        tag_(kNamed ? 0 : uint64_t{process(handle)} << kProcessShift),
        line_shift_(sink.line_shift_),
        clock_(sink.hits_.clock()) {}
  ShortWay(const ShortWay&) = delete;
  ShortWay& operator=(const ShortWay&) = delete;
  ~ShortWay() { sink_.hits_.set_clock(clock_); }

  // The loop that a simulation's time goes into.
  [[gnu::always_inline]] void plain(const channel::Reference* at, const channel::Reference* end,
                                    const uint64_t* words) {
    using Kind = channel::ReferenceKind;
    const uint64_t fetched = channel::fetch_base(words);
    uint64_t clock = clock_;  // in a register
    const auto special = [&](auto make) __attribute__((always_inline)) {
      clock_ = clock;
      this->special(make);
      clock = clock_;
    };
    for (; at != end; ++at) {
      if (at->kind == Kind::kFetch) {
        const uint64_t line = name_of_line(static_cast<uint64_t>(at->disp) + fetched);
        if (!hits(fetches_, line, false, clock)) [[unlikely]]
          special([&] { sink_.access_line(handle_, Kind::kFetch, line); });
        continue;
      }
      const uint64_t address = channel::evaluate(*at, words);
      if ((address & (line_bytes() - 1)) + at->bytes > line_bytes() || at->kind > Kind::kReadModifyWrite) [[unlikely]] {
        special([&] { sink_.access_bytes(handle_, *at, address); });
        continue;
      }
      const bool writes = at->kind >= Kind::kStore;
      const uint64_t line = name_of(address, writes) >> line_shift();
      if (!hits(data_, line, writes, clock)) [[unlikely]]
        special([&] { sink_.access_line(handle_, at->kind, line); });
    }
    clock_ = clock;
  }
  template <class Do>
  [[gnu::always_inline]] void special(Do make) {
    sink_.hits_.set_clock(clock_);
    make();
    clock_ = sink_.hits_.clock();
  }
  bool has_code(uint64_t word, const channel::DecodedPaths& paths) {
    if (paths_ == nullptr) [[unlikely]]
      look_for_code(paths);
    return code_ != nullptr && code_->has_code_now(word, paths);
  }
  channel::CodeRun& code_run() { return run_.paths; }
  void run_code() {
    run_.clock = clock_;
    code_->run(run_);
    clock_ = run_.clock;
  }
  void throw_failure() const {
    if (failure_ != nullptr) [[unlikely]]
      std::rethrow_exception(failure_);
  }
  void count(const channel::PlainCounts& c) { sink_.hits_.count(c.fetches, c.loads, c.stores, c.modifications); }

 private:
  friend class BasicModelSink;

  [[gnu::always_inline]] uint64_t name_of(uint64_t address, bool write) const {
    if constexpr (kNamed) return address + sink_.names_->distance(process(handle_), address, write);
    return address ^ tag_;
  }
  [[gnu::always_inline]] uint64_t name_of_line(uint64_t line) const {
    if constexpr (kNamed) return name_of(line << line_shift(), false) >> line_shift();
    return line ^ tag_ >> line_shift();
  }
  [[gnu::noinline]] void look_for_code(const channel::DecodedPaths& paths) {
    paths_ = &paths;
    CompiledPaths::Level1 level1{line_shift(), fetches_.guess_mask, data_.guess_mask, tag_, fetches_.guesses != data_.guesses};
    level1.is_named = kNamed;
    code_ = sink_.compiled(process(handle_), level1, paths.capacity());
    if constexpr (kNamed) run_.names = sink_.names_->translations(process(handle_)), run_.distance = distance_for_code<ShortWay>;
    run_.fetch_slots = fetches_.slots, run_.fetch_guesses = fetches_.guesses;
    run_.data_slots = data_.slots, run_.data_guesses = data_.guesses;
    run_.maker = this;
    run_.make = [](CompiledRun* run, uint32_t reference) noexcept {
      from_code(run, [&](ShortWay& way) { way.make(reference); });
    };
    run_.make_special = [](CompiledRun* run, uint32_t special) noexcept {
      from_code(run, [&](ShortWay& way) { way.make_special(special); });
    };
    run_.miss = [](CompiledRun* run, channel::ReferenceKind kind, uint64_t line) noexcept {
      from_code(run, [&](ShortWay& way) { way.miss(kind, line); });
    };
  }
  // No exception passes through code: the first one is thrown behind it.
  template <class Do>
  static void from_code(CompiledRun* run, Do make) noexcept {
    auto& way = *static_cast<ShortWay*>(run->maker);
    way.sink_.hits_.set_clock(run->clock);
    try {
      make(way);
    } catch (...) {
      if (way.failure_ == nullptr) way.failure_ = std::current_exception();
    }
    run->clock = way.sink_.hits_.clock();
  }
  // A reference of the path that code executes: to several lines, or of a rare kind.
  void make(uint32_t reference) {
    const uint64_t* const words = run_.paths.at;
    const channel::DecodedPath& path = (*paths_)[*words];
    if (reference < path.reference_count) {
      const channel::Reference& r = path.references[reference];
      sink_.access_bytes(handle_, r, channel::evaluate(r, words));
    } else {  // by FS
      const border::OperandDescriptor& o = path.specials[reference - path.reference_count].operand;
      const channel::OperandAddress address(o, words, run_.paths.thread->bases);
      const channel::Reference r{0, 0, 0, static_cast<uint16_t>(o.size), 0, channel::to_reference_kind(o.kind)};
      sink_.access_bytes(handle_, r, address.at(channel::address_offset(o, words)));
    }
  }
  void make_special(uint32_t special) {
    const uint64_t* const words = run_.paths.at;
    channel::replay_operand((*paths_)[*words].specials[special], words, *run_.paths.thread, sink_);
  }
  void miss(channel::ReferenceKind kind, uint64_t line) {
    sink_.model_.access_counted_line(core(handle_), access_of(kind), line);
  }
  uint32_t line_shift() const { return kLineShift != 0 ? kLineShift : line_shift_; }
  uint32_t line_bytes() const { return 1u << line_shift(); }
  [[gnu::always_inline]] static bool hits(const sim::Cache::Shortcut& side, uint64_t line, bool write, uint64_t& clock) {
    sim::Cache::Recent& recent = side.find(line);
    if (!recent.answers(line, write)) [[unlikely]]
      return false;
    recent.used = ++clock;
    return true;
  }

  BasicModelSink& sink_;
  const uint32_t handle_;
  const sim::Cache::Shortcut fetches_, data_;
  const uint64_t tag_;
  const uint32_t line_shift_;
  uint64_t clock_;
  CompiledPaths* code_ = nullptr;
  const channel::DecodedPaths* paths_ = nullptr;  // null: nobody has asked for code
  CompiledRun run_;
  std::exception_ptr failure_;  // amid code
};

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

// The same with who made each reference, for a model that keeps details. The handle of a thread is its index.
class DetailedModelSink final {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;

  // `family`: as NamedMemory has it.
  explicit DetailedModelSink(sim::Hierarchy& model, const host::Family* family = nullptr)
      : model_(model), memory_(family) {
    model_.keep_details();
  }
  // As BasicModelSink.
  DetailedModelSink(sim::Hierarchy& model, channel::MemoryNames& names) : model_(model), memory_(names) {
    model_.keep_details();
  }
  void look_at_names() {}

  uint32_t start_thread(const channel::ThreadReport& thread) {
    memory_.start_thread(thread);
    if (process_.size() <= thread.index) process_.resize(thread.index + 1), core_.resize(thread.index + 1);
    process_[thread.index] = thread.process;
    core_[thread.index] = core_of_thread(thread.core, model_.cores());
    return thread.index;
  }
  uint32_t run_on(const channel::ThreadReport& thread) {
    start_thread(thread);
    model_.run_thread(core_[thread.index], thread.index);
    return thread.index;
  }
  // Where it ran last.
  uint32_t core_of(uint32_t thread) const { return core_[thread]; }
  void event(uint32_t thread, border::Event event, std::span<const uint64_t> payload) {
    memory_.event(process_[thread], event, payload);
  }
  void forget_process(uint32_t process) {
    memory_.forget_process(process);
    model_.forget_process(process);
  }
  void forget_paths(uint32_t) {}
  // During an access: who makes it, and the address that its process has for a name.
  uint32_t process_now() const { return process_now_; }
  uint64_t address_of(uint64_t name) const { return name - distance_; }
  void fetch(uint32_t thread, uint64_t line, uint64_t pc) {
    // The bytes of the fetch that are on the line: from the instruction on.
    const uint64_t begin = line * model_.line_bytes();
    const uint64_t from = pc > begin ? pc : begin;
    put(thread, sim::Access::kFetch, from, static_cast<uint32_t>(begin + model_.line_bytes() - from), pc);
  }
  void data(uint32_t thread, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    put(thread, access_of(kind), address, bytes, pc);
  }

 private:
  void put(uint32_t thread, sim::Access kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    const auto access = [&](uint64_t name, uint32_t size, uint64_t distance, bool goes_on) {
      distance_ = distance;
      if (goes_on) model_.continue_reference(core_[thread], kind);
      model_.access_detailed(core_[thread], kind, name, size, {thread, process_now_, pc});
    };
    process_now_ = process_[thread];
    const uint64_t plain = uint64_t{process_now_} << kProcessShift;
    if (channel::MemoryNames* const names = memory_.names(); names != nullptr)
      for_each_piece(*names, process_now_, address, bytes, sim::is_write(kind), access);
    else
      access(address + plain, bytes, plain, false);
  }

  sim::Hierarchy& model_;
  NamedMemory memory_;
  uint64_t distance_ = 0;
  uint32_t process_now_ = 0;
  std::vector<uint32_t> process_;  // of each thread
  std::vector<uint32_t> core_;
};

}  // namespace simrun::cli

#include "cli/watched_way.h"

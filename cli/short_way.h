// Many paths at once, whose references level 1 answers at a look (sim::Hierarchy::Hits). Included by cli/model_sink.h.
#pragma once

#include <exception>

#include "cli/model_sink.h"

namespace simrun::cli {

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

}  // namespace simrun::cli

// Paths of one thread in a row on a machine in which more than level 1 sees every access: TLBs, prefetchers (decision 36).
// As BasicModelSink::ShortWay, with the page of each reference, and the prefetcher that goes by instruction.
#pragma once

#include <exception>

#include "cli/model_sink.h"

namespace simrun::cli {

template <class Model>
class BasicModelSink<Model>::WatchedWay {
 public:
  WatchedWay(BasicModelSink& sink, uint32_t handle)
      : sink_(sink),
        handle_(handle),
        hits_(sink.hits_),
        fetches_(hits_.fetches()),
        data_(hits_.data()),
        names_(sink.names_),
        tag_(names_ != nullptr ? 0 : uint64_t{process(handle)} << kProcessShift),
        clock_(hits_.clock()) {}
  WatchedWay(const WatchedWay&) = delete;
  WatchedWay& operator=(const WatchedWay&) = delete;
  ~WatchedWay() { hits_.set_clock(clock_); }

  void plain(const channel::Reference* at, const channel::Reference* end, const uint64_t* words, const uint64_t* pc) {
    using Kind = channel::ReferenceKind;
    const uint32_t shift = hits_.line_shift(), line_bytes = hits_.line_bytes();
    for (; at != end; ++at, ++pc) {
      ++made_;
      const uint64_t value = channel::evaluate(*at, words);
      if (at->kind == Kind::kFetch) {
        const uint64_t line = name_of(value << shift, false) >> shift;
        look_at_page(fetches_, fetched_page_, line);
        if (!answers(fetches_, line, false, *pc)) [[unlikely]]
          access_line(Kind::kFetch, line, *pc);
        continue;
      }
      if ((value & (line_bytes - 1)) + at->bytes > line_bytes || at->kind > Kind::kReadModifyWrite) [[unlikely]] {
        access_bytes(*at, value, *pc);
        continue;
      }
      const uint64_t line = name_of(value, at->kind >= Kind::kStore) >> shift;
      look_at_page(data_, data_page_, line);
      if (!answers(data_, line, at->kind >= Kind::kStore, *pc)) [[unlikely]]
        access_line(at->kind, line, *pc);
    }
  }
  template <class Do>
  void special(Do make) {
    amid(make);
    fetched_page_ = data_page_ = kNoPage;
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
    made_ += made_by_code();
    fetched_page_ = data_page_ = kNoPage;
  }
  void throw_failure() const {
    if (failure_ != nullptr) [[unlikely]]
      std::rethrow_exception(failure_);
  }
  void count(const channel::PlainCounts& c) { hits_.count(c.fetches, c.loads, c.stores, c.modifications); }

 private:
  friend class BasicModelSink;
  using Side = sim::Hierarchy::Hits::Side;
  static constexpr uint64_t kNoPage = CompiledRun::kNoLine;

  uint64_t name_of(uint64_t address, bool write) const {
    return names_ != nullptr ? address + names_->distance(process(handle_), address, write) : address ^ tag_;
  }
  // make() calls the sink, or the model, of references that they count.
  template <class Do>
  void amid(Do make) {
    hits_.set_clock(clock_);
    sink_.model_.set_ahead(-made_);
    make();
    sink_.model_.set_ahead(0);
    clock_ = hits_.clock();
  }
  // The page that the side's reference before had is the most recent one: a look changes nothing.
  void look_at_page(const Side& side, uint64_t& last, uint64_t line) {
    const uint64_t page = hits_.page_of(line);
    if (page == last || !hits_.has_tlb()) return;
    last = page;
    if (!side.has_page(page, clock_)) [[unlikely]]
      look_up_page(&side == &fetches_, page);
  }
  void look_up_page(bool is_fetch, uint64_t page) {
    hits_.set_clock(clock_);
    sink_.model_.look_up_page(core(handle_), is_fetch, page);
    clock_ = hits_.clock();
  }
  bool answers(const Side& side, uint64_t line, bool write, uint64_t pc) {
    sim::Cache::Recent& recent = side.lines.find(line);
    if (!recent.answers(line, write) || !side.notes(line, pc)) [[unlikely]]
      return false;
    recent.used = ++clock_;
    return true;
  }
  void access_line(channel::ReferenceKind kind, uint64_t line, uint64_t pc) {
    hits_.set_clock(clock_);
    sink_.model_.set_pc(pc);
    sink_.model_.access_counted_line(core(handle_), access_of(kind), line, -made_);
    clock_ = hits_.clock();
  }
  // To several lines, or of a rare kind.
  void access_bytes(const channel::Reference& r, uint64_t address, uint64_t pc) {
    hits_.set_clock(clock_);
    sink_.model_.set_pc(pc);
    const sim::Access access = access_of(r.kind);
    if (!is_counted(r.kind)) --made_;
    sink_.in_pieces(handle_, access, address, r.bytes, [&](uint64_t name, uint32_t size) {
      if (is_counted(r.kind))
        sink_.model_.access_counted(core(handle_), access, name, size, -made_);
      else
        sink_.model_.access_amid(core(handle_), access, name, size, -made_);
      sink_.model_.set_ahead(-made_);  // of further pieces
    });
    sink_.model_.set_ahead(0);
    clock_ = hits_.clock();
    data_page_ = kNoPage;
  }
  static bool is_counted(channel::ReferenceKind kind) {
    return kind != channel::ReferenceKind::kPrefetch && kind != channel::ReferenceKind::kFlush;
  }

  [[gnu::noinline]] void look_for_code(const channel::DecodedPaths& paths) {
    paths_ = &paths;
    if (fetches_.stride != nullptr) return;
    CompiledPaths::Level1 level1{hits_.line_shift(),       fetches_.lines.guess_mask,
                                 data_.lines.guess_mask,   tag_,
                                 fetches_.lines.guesses != data_.lines.guesses};
    level1.is_named = names_ != nullptr;
    if (level1.is_named) run_.names = names_->translations(process(handle_)), run_.distance = distance_for_code<WatchedWay>;
    level1.is_watched = true, level1.has_tlb = hits_.has_tlb(), level1.has_stride = data_.stride != nullptr;
    level1.page_shift = hits_.page_shift();
    if (level1.has_tlb)
      level1.fetched_page_mask = fetches_.pages.guess_mask, level1.data_page_mask = data_.pages.guess_mask;
    code_ = sink_.compiled(process(handle_), level1, paths.capacity());
    run_.fetch_slots = fetches_.lines.slots, run_.fetch_guesses = fetches_.lines.guesses;
    run_.data_slots = data_.lines.slots, run_.data_guesses = data_.lines.guesses;
    run_.pages[0] = fetches_.pages, run_.pages[1] = data_.pages;
    if (level1.has_stride) run_.strides = data_.stride->entries();
    run_.maker = this;
    run_.make = [](CompiledRun* run, uint32_t reference) noexcept {
      from_code(run, [&](WatchedWay& way) { way.make(reference); });
    };
    run_.make_special = [](CompiledRun* run, uint32_t special) noexcept {
      from_code(run, [&](WatchedWay& way) { way.make_special(special); });
    };
    run_.miss_of = [](CompiledRun* run, uint32_t reference, uint64_t line) noexcept {
      from_code(run, [&](WatchedWay& way) { way.miss(reference, line); });
    };
    run_.look_up_page = [](CompiledRun* run, uint32_t is_data, uint64_t page) noexcept {
      from_code(run, [&](WatchedWay& way) { way.look_up_page(is_data == 0, page); });
    };
  }
  // Of the paths that are complete.
  uint64_t made_by_code() const {
    const auto& sums = run_.paths.sums;  // as PathSums has them
    return uint64_t{sums[2]} + sums[3] + sums[4] - sums[7] - run_.paths.skipped;
  }
  // No exception passes through code: the first one is thrown behind it.
  template <class Do>
  static void from_code(CompiledRun* run, Do make) noexcept {
    auto& way = *static_cast<WatchedWay*>(run->maker);
    const uint64_t before = way.made_;
    way.clock_ = run->clock;
    try {
      make(way);
    } catch (...) {
      if (way.failure_ == nullptr) way.failure_ = std::current_exception();
    }
    run->clock = way.clock_;
    way.made_ = before;
  }
  const channel::DecodedPath& path_in_code() const { return (*paths_)[*run_.paths.at]; }
  bool is_inline(const channel::SpecialOperand& special) const {
    return CompiledPaths::is_inline(special.operand, hits_.line_shift());
  }
  // Adds what has been made of the path that code executes before this reference and this special operand of it.
  void make_in_code(const channel::DecodedPath& path, uint32_t reference, uint32_t special) {
    made_ += made_by_code() + reference;
    if (path.prefetches + path.flushes != 0)
      for (uint32_t i = 0; i < reference; ++i) made_ -= !is_counted(path.references[i].kind);
    for (uint32_t k = 0; k < special; ++k) made_ += is_inline(path.specials[k]);  // the others are counted by who makes them
  }
  // Calls access(r, pc, special), of the reference with this number in code, which is made; `special`: null, or it is one.
  template <class Do>
  void amid_code(uint32_t reference, Do access) {
    const channel::DecodedPath& path = path_in_code();
    if (reference >= path.reference_count) [[unlikely]] {
      const uint32_t special = reference - path.reference_count;
      const channel::SpecialOperand& o = path.specials[special];
      make_in_code(path, o.position, special);
      ++made_;
      const auto kind = channel::to_reference_kind(o.operand.kind);
      return access({0, 0, 0, static_cast<uint16_t>(o.operand.size), 0, kind}, o.pc, &o.operand);
    }
    uint32_t special = 0;
    while (special < path.special_count && path.specials[special].position <= reference) ++special;
    make_in_code(path, reference, special);
    ++made_;
    access(path.references[reference], path.pcs[reference], nullptr);
  }
  void make(uint32_t reference) {
    amid_code(reference, [&](const channel::Reference& r, uint64_t pc, const border::OperandDescriptor* special) {
      const uint64_t* const words = run_.paths.at;
      const uint64_t address = special == nullptr
                                   ? channel::evaluate(r, words)
                                   : channel::OperandAddress(*special, words, run_.paths.thread->bases)
                                         .at(channel::address_offset(*special, words));
      access_bytes(r, address, pc);
    });
  }
  void miss(uint32_t reference, uint64_t line) {
    amid_code(reference, [&](const channel::Reference& r, uint64_t pc, const border::OperandDescriptor*) {
      access_line(r.kind, line, pc);
    });
  }
  void make_special(uint32_t special) {
    const channel::DecodedPath& path = path_in_code();
    const channel::SpecialOperand& o = path.specials[special];
    make_in_code(path, o.position, special);
    sink_.model_.set_pc(o.pc);
    amid([&] { channel::replay_operand(o, run_.paths.at, *run_.paths.thread, sink_); });
  }

  BasicModelSink& sink_;
  const uint32_t handle_;
  const sim::Hierarchy::Hits hits_;
  const Side fetches_, data_;
  channel::MemoryNames* const names_;  // null: memory has none
  const uint64_t tag_;
  uint64_t clock_;
  uint64_t fetched_page_ = kNoPage, data_page_ = kNoPage;  // of the references before
  uint64_t made_ = 0;  // references that count() will count
  CompiledPaths* code_ = nullptr;
  const channel::DecodedPaths* paths_ = nullptr;  // null: nobody has asked for code
  CompiledRun run_;
  std::exception_ptr failure_;  // amid code
};

}  // namespace simrun::cli

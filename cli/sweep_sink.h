// What a run does into the machines of a sweep, which have the same cores: it goes to their threads as words. For each machine, or
// several together, there is a sink, with names of memory of its own, that makes of them what it would have been given.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/later_paths.h"
#include "cli/model_sink.h"
#include "sim/parallel/model_sweep.h"

namespace simrun::cli {

class SweepSink final : private sim::ModelSweep::Maker {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;  // a machine's prefetchers may go by instruction

  // As BasicModelSink has them. There is no watch of many machines.
  explicit SweepSink(sim::ModelSweep& model, const host::Family* family = nullptr) : model_(model), memory_(family) { begin(); }
  SweepSink(sim::ModelSweep& model, channel::MemoryNames& names) : model_(model), memory_(names) { begin(); }
  // Who names memory from here on goes on as the sinks do, of which one is as the other.
  ~SweepSink() {
    model_.settle();
    memory_.all_names() = std::move(*makings_[0].names);
  }
  SweepSink(const SweepSink&) = delete;
  SweepSink& operator=(const SweepSink&) = delete;
  void look_at_names() {}
  bool has_names() { return memory_.names() != nullptr; }
  void set_room_for_code(const CompiledPaths::Room& room) { room_ = room; }

  uint32_t start_thread(const channel::ThreadReport& thread) {
    memory_.start_thread(thread);
    return model_handle(thread, model_.cores());
  }
  uint32_t run_on(const channel::ThreadReport& thread) {
    put(What::kThread, std::array<uint64_t, 2>{core_of_thread(thread.core, model_.cores()), thread.index}, {});
    return start_thread(thread);
  }
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
    memory_.event(process_of_handle(handle), event, payload);
  }
  void forget_process(uint32_t process) { memory_.forget_process(process); }
  void forget_paths(uint32_t) {}  // they are lost before
  void fetch(uint32_t handle, uint64_t line, uint64_t pc) { put_one({line, pc, handle, 0, channel::ReferenceKind::kFetch}); }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    put_one({address, pc, handle, bytes, kind});
  }

  // As channel::MakesLater says.
  bool makes_later(uint32_t) const { return true; }
  void make_later(channel::DecodedPaths& paths, const channel::ReplayState& before, std::span<const uint64_t> words) {
    put(What::kPaths, later_head(paths, before), words);
  }
  void lose_paths(uint32_t process) {
    model_.settle();
    for (Making& m : makings_)
      if (m.sink) m.sink->forget_paths(process);
      else if (m.pc_sink) m.pc_sink->forget_paths(process);
      else if (m.filter_sink) m.filter_sink->forget_paths(process);
  }

 private:
  // What words are: the lowest byte of one before them, which has their number above.
  // later_paths.h; OneReference; core and thread, Hierarchy::run_thread; MemoryNames::make_change
  enum class What : uint8_t { kPaths, kReference, kThread, kChange };
  struct OneReference {
    uint64_t address, pc;  // of a fetch: the line
    uint32_t handle, bytes;
    channel::ReferenceKind kind;
    uint8_t unused[7] = {};
  };
  using ReferenceWords = std::array<uint64_t, sizeof(OneReference) / sizeof(uint64_t)>;
  struct Making {
    std::optional<channel::MemoryNames> names;
    std::optional<ModelSink> sink;  // one of the three
    std::optional<PcModelSink<sim::Hierarchy>> pc_sink;
    std::optional<BasicModelSink<sim::ReferenceLister>> filter_sink;
  };

  void begin() {
    channel::MemoryNames& names = memory_.all_names();
    makings_ = std::vector<Making>(model_.makings());
    for (Making& m : makings_) m.names.emplace(names);
    names.tell_of_changes([this](std::span<const uint64_t> change) { put(What::kChange, {}, change); });
  }
  void put_one(const OneReference& reference) { put(What::kReference, std::bit_cast<ReferenceWords>(reference), {}); }
  void put(What what, std::span<const uint64_t> head, std::span<const uint64_t> words) {
    scratch_.assign(1, static_cast<uint64_t>(what) | (head.size() + words.size()) << 8);
    scratch_.insert(scratch_.end(), head.begin(), head.end());
    model_.make_later(*this, scratch_, words);
  }

  void make(size_t number, sim::Hierarchy& to, std::span<const uint64_t> words) override {
    Making& m = makings_[number];
    if (to.wants_pc())
      make_by(m.pc_sink, *m.names, to, words);
    else
      make_by(m.sink, *m.names, to, words);
  }
  void make(size_t number, sim::ReferenceLister& to, std::span<const uint64_t> words) override {
    Making& m = makings_[number];
    make_by(m.filter_sink, *m.names, to, words);
  }
  template <class Sink, class Model>
  void make_by(std::optional<Sink>& sink, channel::MemoryNames& names, Model& to, std::span<const uint64_t> words) {
    if (!sink) sink.emplace(to, names).set_room_for_code(room_);
    sink->look_at_names();
    while (!words.empty()) {
      const auto what = static_cast<What>(words[0] & 0xff);
      const std::span<const uint64_t> own = words.subspan(1, words[0] >> 8);
      words = words.subspan(1 + own.size());
      switch (what) {
        case What::kPaths:
          make_later_paths(*sink, own);
          break;
        case What::kReference: {
          ReferenceWords of_reference;
          std::copy_n(own.begin(), of_reference.size(), of_reference.begin());
          const auto r = std::bit_cast<OneReference>(of_reference);
          channel::put(*sink, r.handle, r.kind, r.address, r.bytes, r.pc);
          break;
        }
        case What::kThread:
          to.run_thread(static_cast<uint32_t>(own[0]), static_cast<uint32_t>(own[1]));
          break;
        case What::kChange:
          names.make_change(own);
          sink->look_at_names();
          break;
      }
    }
  }

  sim::ModelSweep& model_;
  NamedMemory memory_;  // what is told to the machines; references do not change it
  std::vector<Making> makings_;
  CompiledPaths::Room room_;
  std::vector<uint64_t> scratch_;
};

}  // namespace simrun::cli

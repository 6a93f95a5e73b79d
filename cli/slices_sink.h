// References of a live run into slices: paths go to the model as words, and its threads make their references and filter
// them, each by a sink of its own (docs/decisions/0024-slices-are-filtered.md).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cli/later_paths.h"
#include "cli/model_sink.h"
#include "sim/parallel/sliced_model.h"

namespace simrun::cli {

class SlicesSink final : public BasicModelSink<sim::SlicedModel>, private sim::SlicedModel::Maker {
 public:
  explicit SlicesSink(sim::SlicedModel& model, RunWatch* watch = nullptr, const host::Family* family = nullptr)
      : BasicModelSink(model, watch, family), makers_(model.threads()) {}
  SlicesSink(sim::SlicedModel& model, channel::MemoryNames& names)
      : BasicModelSink(model, names), makers_(model.threads()) {}
  void set_room_for_code(const CompiledPaths::Room& room) { room_ = room; }

  // As channel::MakesLater says: where memory has no names, for the makers know none.
  bool makes_later(uint32_t) const { return !has_names(); }
  void make_later(channel::DecodedPaths& paths, const channel::ReplayState& before, std::span<const uint64_t> words) {
    model_.make_later(core(before.handle), *this, later_head(paths, before), words);
  }
  void lose_paths(uint32_t process) {
    model_.settle();
    for (const std::unique_ptr<MakerSink>& maker : makers_)
      if (maker != nullptr) maker->forget_paths(process);
  }

 private:
  using MakerSink = BasicModelSink<sim::ReferenceLister>;

  void make(uint32_t thread, sim::ReferenceLister& to, std::span<const uint64_t> words) override {
    std::unique_ptr<MakerSink>& sink = makers_[thread];
    if (sink == nullptr) {
      sink = std::make_unique<MakerSink>(to);
      sink->set_room_for_code(room_);
    }
    make_later_paths(*sink, words);
  }

  std::vector<std::unique_ptr<MakerSink>> makers_;  // of each of the model's threads
  CompiledPaths::Room room_;
};

}  // namespace simrun::cli

// References of a live run into slices: paths go to the model as words, and its threads make their references and filter
// them, each by a sink of its own (docs/decisions/0024-slices-are-filtered.md). Where memory has names, which depend on the order of
// references, whoever has the words does that itself.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cli/later_paths.h"
#include "cli/model_sink.h"
#include "sim/parallel/sliced_model.h"

namespace simrun::cli {

class SlicesSink final : public BasicModelSink<sim::SlicedModel>, private sim::SlicedModel::Maker {
  using Base = BasicModelSink<sim::SlicedModel>;

 public:
  explicit SlicesSink(sim::SlicedModel& model, RunWatch* watch = nullptr, const host::Family* family = nullptr)
      : Base(model, watch, family), makers_(model.threads()) {}
  SlicesSink(sim::SlicedModel& model, channel::MemoryNames& names) : Base(model, names), makers_(model.threads()) {}
  void look_at_names() {
    Base::look_at_names();
    look_at_own_names();
  }
  void set_room_for_code(const CompiledPaths::Room& room) { room_ = room; }

  uint32_t start_thread(const channel::ThreadReport& thread) {
    const uint32_t handle = Base::start_thread(thread);
    look_at_own_names();
    return handle;
  }
  uint32_t run_on(const channel::ThreadReport& thread) {
    own_ ? own_->run_on(thread) : Base::run_on(thread);
    return start_thread(thread);
  }
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
    Base::event(handle, event, payload);
    look_at_own_names();
  }
  void forget_paths(uint32_t process) {
    if (own_) own_->forget_paths(process);
  }
  void forget_process(uint32_t process) {
    Base::forget_process(process);
    forget_paths(process);
  }
  void fetch(uint32_t handle, uint64_t line) { own_ ? own_->fetch(handle, line) : Base::fetch(handle, line); }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    own_ ? own_->data(handle, kind, address, bytes) : Base::data(handle, kind, address, bytes);
  }
  template <class Take>
  [[gnu::always_inline]] bool take_together(uint32_t handle, Take take) {
    return own_ && own_->take_together(handle, take);
  }
  uint64_t iterations(uint32_t handle, std::span<const channel::StringReference> first, int64_t step, uint64_t most, uint64_t pc) {
    return own_ ? own_->iterations(handle, first, step, most, pc) : 0;
  }

  // As channel::MakesLater says.
  bool makes_later(uint32_t) const { return !own_; }
  void make_later(channel::DecodedPaths& paths, const channel::ReplayState& before, std::span<const uint64_t> words) {
    model_.make_later(core(before.handle), *this, later_head(paths, before), words);
  }
  void lose_paths(uint32_t process) {
    model_.settle();
    for (const std::unique_ptr<MakerSink>& maker : makers_)
      if (maker != nullptr) maker->forget_paths(process);
    forget_paths(process);
  }

 private:
  using MakerSink = BasicModelSink<sim::ReferenceLister>;

  void look_at_own_names() {
    if (!has_names()) return;
    if (!own_) own_.emplace(model_.list_from_here(), *names()).set_room_for_code(room_);
    own_->look_at_names();
  }
  void make(uint32_t thread, sim::ReferenceLister& to, std::span<const uint64_t> words) override {
    std::unique_ptr<MakerSink>& sink = makers_[thread];
    if (sink == nullptr) {
      sink = std::make_unique<MakerSink>(to);
      sink->set_room_for_code(room_);
    }
    make_later_paths(*sink, words);
  }

  std::vector<std::unique_ptr<MakerSink>> makers_;  // of each of the model's threads
  std::optional<MakerSink> own_;                    // where memory has names
  CompiledPaths::Room room_;
};

}  // namespace simrun::cli

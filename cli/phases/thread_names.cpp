#include "cli/phases/thread_names.h"

#include <fmt/format.h>

#include "instr/border/stream.h"

namespace simrun::cli {

void ThreadNames::event(const channel::MergeThread& merged, std::span<const uint64_t> words) {
  using border::Event;
  const auto event = static_cast<Event>(static_cast<uint32_t>(words[0]));
  if (event == Event::kThreadEnd && merged.report.index < names_.size()) std::string().swap(names_[merged.report.index]);
  if ((event != Event::kThreadCreate && event != Event::kThreadCreateFailed) || words.size() < 2) return;
  const std::pair slot{merged.process, static_cast<uint32_t>(words[1])};
  const std::string& creator = of(merged.report);
  uint32_t& created = created_[merged.report.index];
  if (event == Event::kThreadCreateFailed) {
    announced_.erase(slot);
    if (created != 0) --created;
    return;
  }
  announced_[slot] = fmt::format("{}.{}", creator, ++created);
}

const std::string& ThreadNames::of(const channel::ThreadReport& thread) {
  const uint32_t index = thread.index;
  if (index >= names_.size()) {
    names_.resize(index + 1);
    created_.resize(index + 1);
  }
  std::string& name = names_[index];
  if (!name.empty()) return name;
  if (auto announced = announced_.extract({thread.process, thread.slot}); !announced.empty())
    return name = std::move(announced.mapped());
  const uint32_t roots = roots_[thread.process]++;
  return name = roots == 0 ? "0" : fmt::format("n{}", roots);
}

}  // namespace simrun::cli

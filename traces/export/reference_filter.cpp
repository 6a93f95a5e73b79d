#include "traces/export/reference_filter.h"

#include <algorithm>
#include <bit>

namespace simrun::traces {

ReferenceFilter::ReferenceFilter(uint64_t bytes, uint32_t line_bytes, bool by_thread, const Exporter& reader)
    : mask_(bytes / line_bytes - 1),
      line_shift_(static_cast<uint32_t>(std::countr_zero(line_bytes))),
      by_thread_(by_thread),
      reader_(reader) {}

ReferenceFilter::Caches& ReferenceFilter::caches_of(const InstructionRecord& i) {
  const uint32_t thread = by_thread_ ? i.thread : 0;
  if (last_ != nullptr && last_thread_ == thread) return *last_;
  auto [at, is_new] = threads_.try_emplace(thread);
  Caches& caches = at->second;
  if (is_new) caches.fetches.resize(mask_ + 1), caches.data.resize(mask_ + 1);
  last_ = &caches, last_thread_ = thread;
  return caches;
}

template <class Change>
void ReferenceFilter::for_each_holder(uint64_t line, Change change) {
  for (auto& [thread, caches] : threads_)
    for (std::vector<Line>* side : {&caches.fetches, &caches.data})
      if (Line& there = (*side)[line & mask_]; there.line == line) change(*side, there);
}

bool ReferenceFilter::keeps_line(std::vector<Line>& side, uint64_t line, bool write) {
  Line& last = side[line & mask_];
  if (last.line == line && (!write || last.written)) return false;
  for_each_holder(line, [&](const std::vector<Line>& holder, Line& there) {
    if (&holder == &side) return;
    if (write)
      there = {};
    else
      there.written = false;
  });
  last = {line, write};  // a read of a line that is there is not kept
  return true;
}

void ReferenceFilter::forget_line(Caches& own, uint64_t line) {
  for_each_holder(line, [](const std::vector<Line>&, Line& there) { there = {}; });
  own.data[line & mask_] = {};
}

// Whether `look` says so of one of the lines; it sees all.
template <class Look>
bool ReferenceFilter::any_line(uint64_t address, uint32_t bytes, Look look) const {
  const uint64_t within = address & ((uint64_t{1} << line_shift_) - 1), first = address >> line_shift_;
  const uint64_t further = (within + std::max(reader_.bytes_seen(bytes), 1u) - 1) >> line_shift_;
  bool any = false;
  for (uint64_t k = 0; k <= further; ++k) any |= look((first + k) & (~uint64_t{0} >> line_shift_));
  return any;
}

bool ReferenceFilter::keeps_fetch(const InstructionRecord& i) {
  Caches& own = caches_of(i);
  return any_line(i.pc, i.length, [&](uint64_t line) { return keeps_line(own.fetches, line, false); });
}

std::span<const MemoryReference> ReferenceFilter::keep(const InstructionRecord& i) {
  Caches& own = caches_of(i);
  kept_.clear();
  for (const MemoryReference& r : i.references) {
    const bool is_kept = any_line(r.address, r.bytes, [&](uint64_t line) {
      if (reads(r.kind) || writes(r.kind)) return keeps_line(own.data, line, writes(r.kind));
      forget_line(own, line);
      return true;
    });
    if (is_kept) kept_.push_back(r);
  }
  return kept_;
}

bool FilteringExporter::on_instruction(const InstructionRecord& i) {
  const bool keeps_fetch = filter_.keeps_fetch(i);
  InstructionRecord kept = i;
  kept.references = filter_.keep(i);
  kept_fetches_ += keeps_fetch;
  kept_references_ += kept.references.size();
  return keeps_fetch ? inner_.on_instruction(kept) : inner_.on_unfetched(kept);
}

bool FilteringExporter::on_begun_string(const InstructionRecord& i) {
  InstructionRecord kept = i;
  kept.references = filter_.keep(i);
  kept_references_ += kept.references.size();
  return inner_.on_begun_string(kept);
}

}  // namespace simrun::traces

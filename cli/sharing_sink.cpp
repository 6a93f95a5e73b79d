#include "cli/sharing_sink.h"

#include <algorithm>
#include <limits>

namespace simrun::cli {

uint32_t SharingSink::start_thread(const channel::ThreadReport& thread) {
  processes_.resize(std::max<size_t>(processes_.size(), thread.index + 1));
  processes_[thread.index] = thread.process;
  if (watchers_.size() <= thread.process) watchers_.resize(thread.process + 1);
  auto& watcher = watchers_[thread.process];
  if (watcher == nullptr) {
    const host::Family::Birth& birth = family_.birth(thread.process);
    const bool forked = birth.is_copy && watchers_[birth.parent] != nullptr;
    watcher = std::make_unique<ProgramWatcher>(family_[thread.process], forked ? watchers_[birth.parent].get() : nullptr);
    if (family_.is_attached() && birth.kind == host::Family::Birth::Kind::kLaunched) watcher->add_what_is_mapped();
  }
  return references_.start_thread(thread);
}

void SharingSink::Majority::vote(const analysis::Place& p) {
  const bool same = p.kind == place.kind && p.id == place.id && (p.kind != analysis::PlaceKind::kModule || p.offset == place.offset);
  if (votes == 0) place = p;
  votes = same || votes == 0 ? votes + 1 : votes - 1;
}

// What it is now: by the end of the run the block may be freed.
void SharingSink::new_site(const sim::LineRecord& line, uint32_t site) {
  std::vector<SitePlaces>& places = places_[line.line];
  places.resize(line.sites.size());
  const sim::Site& s = line.sites[site];
  const analysis::AddressSpace& of = space(s.origin.thread);
  const uint64_t address = references_.address_of(line.line * model_.line_bytes());
  places[site] = {address, of.code_place(s.origin.pc), {of.place(address + s.offset)}};
}

// What it is now: by the end of the run its block may be freed, and others be there.
void SharingSink::missed(const sim::Miss& miss) {
  const uint64_t number = miss.line.line;
  const uint32_t process = references_.process_now();
  const uint64_t address = references_.address_of(number * model_.line_bytes());
  const analysis::AddressSpace* const of = space_of(process);
  if (of == nullptr) return;
  const analysis::Place place = of->place(address + miss.offset);
  const bool is_code = miss.kind == sim::Access::kFetch && place.kind == analysis::PlaceKind::kModule;
  missed_lines_[number].add({process, address, place, is_code, 1}, *of);
  objects_.add(process, *of, place, miss);
  if ((!miss.is_coherence_miss && !miss.is_upgrade) || miss.site == sim::LineTable::kNoSite) return;
  std::vector<SitePlaces>& places = places_[number];
  if (miss.site < places.size()) places[miss.site].data.vote(place);
}

// Cycles beyond a hit in level 1 until the cache that all threads of the line have in common answers, or memory.
uint64_t SharingSink::transfer_cycles(const sim::LineRecord& line) const {
  const sim::MachineConfig& machine = model_.config();
  const auto data_latency = [](const sim::LevelConfig& l) { return l.split ? l.data.latency : l.unified.latency; };
  const uint32_t own = data_latency(machine.levels[0]);
  for (const sim::LevelConfig& level : machine.levels) {
    const auto cache_of = [&](const sim::ThreadUse& use) {
      return references_.core_of(use.thread) / level.cores_per_cache;
    };
    const uint32_t first = cache_of(line.threads.front());
    const bool common = std::all_of(line.threads.begin(), line.threads.end(),
                                    [&](const sim::ThreadUse& use) { return cache_of(use) == first; });
    if (common) return std::max(data_latency(level), own) - own;
  }
  return std::max(machine.memory_latency, own) - own;
}

namespace {

uint64_t& count_of(analysis::LineUse& use, sim::Access kind) {
  switch (kind) {
    case sim::Access::kFetch: return use.fetches;
    case sim::Access::kPrefetch: return use.prefetches;
    default: return sim::is_write(kind) ? use.writes : use.reads;
  }
}

// Nobody waits for them.
uint64_t misses_of_prefetches(const sim::LineRecord& line) {
  uint64_t misses = 0;
  for (const sim::Site& site : line.sites)
    if (site.kind == sim::Access::kPrefetch) misses += site.sharing.coherence_misses();
  return misses;
}

}  // namespace

std::vector<analysis::SharedLine> SharingSink::shared_lines() const {
  std::vector<analysis::SharedLine> lines;
  for (const sim::LineRecord* record : model_.details()->lines().worst(std::numeric_limits<size_t>::max())) {
    analysis::SharedLine line;
    line.false_misses = record->sharing.false_sharing;
    line.true_misses = record->sharing.true_sharing;
    line.upgrades = record->sharing.upgrades;
    line.transfers = record->sharing.dirty_transfers;
    line.stall_cycles = (line.misses() - misses_of_prefetches(*record)) * transfer_cycles(*record);
    const auto places = places_.find(record->line);
    line.address = places != places_.end() && !places->second.empty() ? places->second[0].line_address
                                                                      : record->line * model_.line_bytes();
    for (size_t i = 0; i < record->sites.size(); ++i) {
      const sim::Site& site = record->sites[i];
      analysis::LineUse use;
      use.space = &space(site.origin.thread);
      use.thread = site.origin.thread;
      use.pc = site.origin.pc;
      use.offset = site.offset;
      use.bytes = site.bytes;
      if (places != places_.end() && i < places->second.size()) {
        use.code = places->second[i].code;
        use.data = places->second[i].data.place;
      }
      count_of(use, site.kind) = site.references;
      if (site.kind == sim::Access::kReadModifyWrite) use.reads = site.references;
      use.false_misses = site.sharing.false_sharing;
      use.true_misses = site.sharing.true_sharing;
      use.upgrades = site.sharing.upgrades;
      use.transfers = site.sharing.dirty_transfers;
      line.uses.push_back(use);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace simrun::cli

// Accesses that the shortcut does not answer, and the statistics.
#include "sim/hierarchy.h"

#include <algorithm>

#include "base/check.h"
#include "base/user_error.h"
#include "sim/build/validate_machine.h"
#include "sim/stats/timing.h"

namespace simrun::sim {

namespace {

const MachineConfig& checked(const MachineConfig& config) {
  if (const auto problem = find_problem(config)) throw UserError(config.name + ": " + problem->message);
  return config;
}

void add(AccessCounts& sum, const uint64_t (&counts)[kAccessKinds]) {
  sum.fetches += counts[index(Access::kFetch)];
  sum.reads += counts[index(Access::kLoad)];
  sum.writes += counts[index(Access::kStore)] + counts[index(Access::kReadModifyWrite)];
  sum.prefetches += counts[index(Access::kPrefetch)];
  sum.read_modify_writes += counts[index(Access::kReadModifyWrite)];
}

RequestStatistics to_statistics(const RequestCounters& counters) {
  RequestStatistics result;
  add(result.accesses, counters.accesses);
  add(result.misses, counters.misses);
  return result;
}

}  // namespace

Hierarchy::Hierarchy(const MachineConfig& config, Slice slice)
    : config_(checked(config)),
      line_shift_(std::countr_zero(config.line_bytes)),
      tree_(config_, slice),
      transfers_(config.cores),
      ports_(2 * config.cores) {
  for (uint32_t i = 0; i < ports_.size(); ++i) {
    ports_[i].node = tree_.level1(i / 2, i % 2 == 0 ? Side::kInstruction : Side::kData);
    ports_[i].cache = &tree_.cache(ports_[i].node);
    ports_[i].shortcut = ports_[i].lines = ports_[i].cache->shortcut();
    ports_[i].way = !ports_[i].cache->hits_by_time()      ? Way::kPolicy
                    : ports_[i].cache->padded_ways() == 8 ? Way::kLru8
                                                          : Way::kLru;
    const CoherentTree::Node& node = tree_.node(ports_[i].node);
    if (node.plain && node.write_allocate) ports_[i].plain = &tree_.way(i / 2, node.side);
  }
  page_shift_ = config_.page_bytes > config_.line_bytes
                    ? static_cast<uint32_t>(std::countr_zero(config_.page_bytes)) - line_shift_
                    : 0;
  if (config_.tlb)
    for (uint32_t core = 0; core < config_.cores; ++core) tlbs_.emplace_back(*config_.tlb);
  if (config_.addresses == Addresses::kFirstTouch) frames_.emplace(page_shift_);
  send_ports_through();
  choose_lru();
}

// Those of which somebody sees every access.
void Hierarchy::send_ports_through() {
  // Answers nothing.
  static constinit Cache::Recent never;
  static constinit Cache::Guess first = 0;
  static constinit uint64_t no_clock = 0;
  for (const LevelConfig& level : config_.levels)
    for (const CacheShape* shape : {&level.unified, &level.instruction, &level.data})
      for (const PrefetchConfig& p : shape->prefetch) prefetches_ = true, wants_pc_ |= p.kind == PrefetchKind::kStride;
  for (Port& port : ports_) {
    PrefetchUnit* unit = tree_.prefetch_unit(port.node);
    if (tlbs_.empty() && !frames_ && unit == nullptr) continue;
    port.way = Way::kThrough;
    port.shortcut = {&never, &first, 0, &no_clock};
    port.unit = unit;
    if (unit == nullptr) continue;
    const std::vector<prefetch::Stride*> strides = unit->predictor.strides();
    if (!strides.empty()) port.stride = strides[0];
    port.several_strides = strides.size() > 1;
    port.only_stride = strides.size() == 1 && unit->predictor.size() == 1;
  }
}

// The rarer ends are functions of their own in tail position, so that the usual end, a hit, saves no registers.
template <uint32_t kPadded>
[[gnu::noinline]] void Hierarchy::access_ways(Port& port, uint32_t core, Access kind, uint64_t line) {
  const auto [hit, slot] = port.cache->hit_in_level1<kPadded>(line, is_write(kind));
  if (hit == Cache::Hit::kDone) [[likely]]
    return;
  if (hit == Cache::Hit::kMiss) return miss_in_level1(port, core, kind, line);
  first_write(port, core, kind, slot);
}

void Hierarchy::access_8_ways(Port& port, uint32_t core, Access kind, uint64_t line) {
  access_ways<8>(port, core, kind, line);
}

[[gnu::noinline]] void Hierarchy::first_write(Port& port, uint32_t core, Access kind, Slot slot) {
  if (prefetches_) tree_.set_clock(clock_of(core));
  if (tree_.write_hit(port.node, slot, core, kind)) {
    ++port.upgrades[tree_.permission_level()];
    if (details_ != nullptr) [[unlikely]]
      details_->permitted(tree_.permission_level());
  }
  if (prefetches_ && port.way != Way::kThrough) prefetch();
}

void Hierarchy::access_in_full(Port& port, uint32_t core, Access kind, uint64_t line) {
  if (port.access_lru != nullptr && kind != Access::kFlush) [[likely]]
    return port.access_lru(*this, port, core, kind, line);
  if (port.way == Way::kThrough) [[unlikely]]
    return access_through(port, core, kind, line);
  if (kind == Access::kFlush) [[unlikely]]
    return tree_.flush(line);
  if (port.way == Way::kLru8) [[likely]]
    return access_8_ways(port, core, kind, line);
  if (port.way == Way::kLru) return access_ways<0>(port, core, kind, line);
  access_by_policy(port, core, kind, line);
}

void Hierarchy::access_array(Port& port, uint32_t core, Access kind, uint64_t line) {
  if (!port.cache->hits_by_time()) return access_by_policy(port, core, kind, line);
  access_ways<0>(port, core, kind, line);
}

void Hierarchy::access_through(Port& port, uint32_t core, Access kind, uint64_t line) {
  if (!tlbs_.empty()) tlbs_[core].access(kind == Access::kFetch, line >> page_shift_);
  if (frames_) line = frames_->translate(line);
  access_behind_tlb(port, core, kind, line);
}

void Hierarchy::access_behind_tlb(Port& port, uint32_t core, Access kind, uint64_t line) {
  if (kind == Access::kFlush) [[unlikely]]
    return tree_.flush(line);
  Cache::Recent& recent = port.lines.find(line);
  if (recent.answers(line, is_write(kind)) && port.notes(kind, line, tree_.pc())) {
    recent.used = ++*port.lines.clock;
    return;
  }
  access_observed(port, core, kind, line);
}

// To the prefetchers of level 1, which need the clock if they want something.
void Hierarchy::show_miss(Port& port, uint32_t core, Access kind, uint64_t line) {
  if (port.only_stride && kind != Access::kPrefetch && port.stride->notes(line, tree_.pc())) return;
  tree_.set_clock(clock_of(core));
  tree_.observe_level1(port.node, core, kind, line, kNoSlot);
}

// A line that a prefetcher brought is closed until its first use, so that comes here.
void Hierarchy::access_observed(Port& port, uint32_t core, Access kind, uint64_t line) {
  Slot slot = port.unit != nullptr ? port.cache->at_guess(line) : kNoSlot;
  if (slot == kNoSlot) {
    if (port.take_observed != nullptr && port.take_observed(*this, port, core, kind, line)) return;
    if (port.unit == nullptr) {
      access_array(port, core, kind, line);
      return prefetch();
    }
    slot = port.cache->find(line);
    if (slot == kNoSlot) {
      tree_.set_clock(clock_of(core));
      show_miss(port, core, kind, line);
      miss_in_level1(port, core, kind, line);
      return prefetch();
    }
  }
  if (tree_.is_marked(port.node, slot) || !port.is_known(line, tree_.pc())) {
    tree_.set_clock(clock_of(core));
    tree_.observe_level1(port.node, core, kind, line, slot);
  }
  use_line(port, core, kind, line, slot);
  if (kind == Access::kPrefetch) [[unlikely]]
    if (const Slot there = port.cache->find(line); there != kNoSlot && tree_.is_marked(port.node, there))
      port.cache->close(there);  // a software prefetch is no use
  prefetch();
}

void Hierarchy::archive(StateArchive& a) {
  tree_.archive(a);
  for (Tlb& tlb : tlbs_) tlb.archive(a);
  if (frames_) frames_->archive(a);
}

std::vector<uint8_t> Hierarchy::state() const {
  CHECK(details_ == nullptr);
  StateArchive a;
  const_cast<Hierarchy*>(this)->archive(a);  // one function for both ways: writing changes nothing
  return a.bytes();
}

void Hierarchy::set_state(std::vector<uint8_t> bytes) {
  CHECK(details_ == nullptr);
  StateArchive a(std::move(bytes));
  archive(a);
  if (!a.at_end()) throw UserError("a stored cache state is of another machine");
  choose_lru();  // which caches have upper halves of tags
}

// Accesses of the core so far, the one under way included.
CoherentTree::Clock Hierarchy::clock_of(uint32_t core) const {
  return {ports_[2 * core].counts.accesses, ports_[2 * core + 1].counts.accesses, ahead_};
}

void Hierarchy::prefetch() {
  if (tree_.wants_prefetches()) tree_.prefetch_wanted();
}

void Hierarchy::access_by_policy(Port& port, uint32_t core, Access kind, uint64_t line) {
  const Slot slot = port.cache->find_guessed(line);
  if (slot == kNoSlot) return miss_in_level1(port, core, kind, line);
  use_line(port, core, kind, line, slot);
}

// It was found in `slot` of level 1.
void Hierarchy::use_line(Port& port, uint32_t core, Access kind, uint64_t line, Slot slot) {
  Cache& cache = *port.cache;
  if (cache.hits_by_time()) {
    if (cache.hit_at(slot, line, is_write(kind)) == Cache::Hit::kFirstWrite) first_write(port, core, kind, slot);
    return;
  }
  cache.touch(slot);
  cache.open(slot);
  if (is_write(kind) && cache.state(slot) != State::kModified) first_write(port, core, kind, slot);
}

[[gnu::noinline]] void Hierarchy::miss_in_level1(Port& port, uint32_t core, Access kind, uint64_t line) {
  ++port.counts.misses[index(kind)];
  if (prefetches_ && !tree_.node(port.node).prefetches) tree_.set_clock(clock_of(core));  // else access_observed() did
  if (port.plain != nullptr && tree_.nobody_watches()) [[likely]]
    tree_.miss_plain(*port.plain, 0, core, kind, line);
  else
    tree_.miss(port.node, core, kind, line);
  const CoherentTree::Service& service = tree_.service();
  ++port.served[service.level][index(kind)];
  if (service.supplier != kMemory) [[unlikely]]
    count_transfer(port, core, kind);
  if (details_ != nullptr) [[unlikely]]
    details_->answered(service.level, service.supplier != kMemory);
  if (prefetches_ && port.way != Way::kThrough) [[unlikely]]
    prefetch();
}

void Hierarchy::count_transfer(Port& port, uint32_t core, Access kind) {
  ++port.handed_over[index(kind)];
  std::vector<uint64_t>& row = transfers_[core];
  if (row.empty()) row.resize(cores());
  ++row[tree_.node(tree_.service().supplier).first_core];
}

void Hierarchy::access_lines(uint32_t core, Access kind, uint64_t first, uint64_t last) {
  ports_[2 * core + (kind != Access::kFetch)].extra_lines[index(kind)] += last - first;
  for (uint64_t line = first; line < last; ++line) access_line(core, kind, line);
  access_line(core, kind, last);
}

Hierarchy::Hits Hierarchy::hits(uint32_t core) {
  Hits h;
  for (const bool is_data : {false, true}) {
    const Port& port = ports_[2 * core + is_data];
    Hits::Side& side = is_data ? h.data_ : h.fetches_;
    side.lines = port.lines;
    side.stride = port.stride;
    if (!tlbs_.empty()) side.pages = tlbs_[core].shortcut(!is_data);
  }
  h.fetch_counts_ = ports_[2 * core].counts.accesses, h.data_counts_ = ports_[2 * core + 1].counts.accesses;
  h.line_shift_ = line_shift_, h.page_shift_ = page_shift_;
  h.has_tlb_ = !tlbs_.empty(), h.has_prefetchers_ = prefetches_, h.usable_ = !frames_;
  for (const uint32_t i : {2 * core, 2 * core + 1}) h.usable_ = h.usable_ && !ports_[i].several_strides;
  return h;
}

void Hierarchy::access_counted_line(uint32_t core, Access kind, uint64_t line, uint64_t ahead) {
  Port& port = ports_[2 * core + (kind != Access::kFetch)];
  ahead_ = ahead;
  if (port.way == Way::kThrough)
    access_behind_tlb(port, core, kind, line);
  else
    access_in_full(port, core, kind, line);
  ahead_ = 0;
}

void Hierarchy::access_counted(uint32_t core, Access kind, uint64_t address, uint32_t bytes, uint64_t ahead) {
  ahead_ = ahead;
  const uint64_t first = address >> line_shift_;
  const uint64_t end = address + (bytes != 0 ? bytes - 1 : 0);
  const uint64_t last = end < address ? ~uint64_t{0} >> line_shift_ : end >> line_shift_;
  access_in_full(ports_[2 * core + (kind != Access::kFetch)], core, kind, first);
  for (uint64_t line = first; line < last;) access_further_line(core, kind, ++line);
  ahead_ = 0;
}

void Hierarchy::keep_details() {
  if (frames_)
    throw UserError(config_.name + ": details of lines are kept by virtual address; they need 'addresses: virtual'", 2);
  std::vector<CacheFacts> caches;
  for (NodeId id = 0; id < tree_.size(); ++id)
    caches.push_back({tree_.node(id).level, tree_.cache(id).sets() * tree_.cache(id).ways(), tree_.node(id).parent});
  std::vector<std::vector<uint32_t>> paths(ports_.size());
  for (size_t port = 0; port < ports_.size(); ++port)
    for (NodeId id = ports_[port].node; id != kMemory; id = tree_.node(id).parent) paths[port].push_back(id);
  AnswerLatencies latencies;
  for (size_t level = 0; level <= config_.levels.size(); ++level) {
    latencies.fetches[level] = latency_of(config_, level, Side::kInstruction);
    latencies.data[level] = latency_of(config_, level, Side::kData);
  }
  latencies.transfer = config_.transfer_latency;
  details_ = std::make_unique<Details>(line_bytes(), std::move(caches), std::move(paths), config_.coherence != Coherence::kNone, latencies);
  tree_.tell(details_.get());
  choose_lru();
}

void Hierarchy::access_detailed(uint32_t core, Access kind, uint64_t address, uint32_t bytes, const Origin& origin) {
  CHECK(details_ != nullptr);
  tree_.set_pc(origin.pc);
  Port& port = ports_[2 * core + (kind != Access::kFetch)];
  const uint64_t end = address + (bytes != 0 ? bytes - 1 : 0);
  const uint64_t first = address >> line_shift_;
  const uint64_t last = end < address ? ~uint64_t{0} >> line_shift_ : end >> line_shift_;
  port.extra_lines[index(kind)] += last - first;
  for (uint64_t line = first;; ++line) {
    const uint64_t from = std::max(address, line << line_shift_);
    const uint64_t left_in_line = line_bytes() - (from & (line_bytes() - 1));
    const uint64_t wanted = line == last && end >= address ? end - from + 1 : left_in_line;
    const uint64_t misses = port.counts.misses[index(kind)];
    details_->begin(core, kind, line, static_cast<uint32_t>(from & (line_bytes() - 1)),
                    static_cast<uint32_t>(std::min(wanted, left_in_line)), origin);
    access_line(core, kind, line);
    details_->request(port.node, port.counts.misses[index(kind)] == misses);
    details_->end();
    if (line == last) return;
  }
}

void Hierarchy::run_thread(uint32_t core, uint32_t thread) {
  running_.resize(cores());
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  Running& running = running_[core];
  CoreStatistics now = core_statistics(core);
  if (!running.before.served.empty()) {
    CoreStatistics done = now;
    threads_[running.thread] += done -= running.before;
  }
  running = {thread, std::move(now)};
}

std::vector<CoreStatistics> Hierarchy::thread_statistics() const {
  std::vector<CoreStatistics> threads = threads_;
  for (uint32_t core = 0; core < running_.size(); ++core) {
    const Running& running = running_[core];
    if (running.before.served.empty()) continue;
    CoreStatistics now = core_statistics(core);
    threads[running.thread] += now -= running.before;
  }
  return threads;
}

Statistics Hierarchy::statistics() const {
  for (const Port& port : ports_) count_answered(port);
  Statistics result;
  for (NodeId id = 0; id < tree_.size(); ++id) {
    const CoherentTree::Node& node = tree_.node(id);
    if (result.levels.empty() || result.levels.back().level != node.level + 1 ||
        result.levels.back().side != node.side) {
      const char* side = node.side == Side::kUnified ? "" : node.side == Side::kInstruction ? "I" : "D";
      result.levels.push_back({config_.levels[node.level].name + side, node.level + 1, node.side, {}, {}, {}});
    }
    LevelStatistics& level = result.levels.back();
    level.caches.push_back(instance_statistics(id));
    level.total += level.caches.back().total;
    if (details_ == nullptr) continue;
    level.caches.back().details = details_->of_cache(id);
    if (!level.details) level.details.emplace();
    *level.details += details_->of_cache(id);
  }
  for (uint32_t core = 0; core < cores(); ++core) result.cores.push_back(core_statistics(core));
  result.threads = thread_statistics();
  result.memory = tree_.memory();
  for (uint32_t to = 0; to < cores(); ++to)
    for (uint32_t from = 0; from < transfers_[to].size(); ++from)
      if (transfers_[to][from] != 0) result.transfers.push_back({to, from, transfers_[to][from]});
  return result;
}

CacheInstanceStatistics Hierarchy::instance_statistics(NodeId id) const {
  const Cache& cache = tree_.cache(id);
  const EventCounters& e = cache.events;
  CacheInstanceStatistics result;
  result.name = cache.name();
  result.first_core = cache.first_core;
  for (uint32_t i = 0; i < cache.requests.size(); ++i) {
    result.by_core.push_back(tree_.node(id).level == 0 ? port_statistics(id, cache.first_core + i)
                                                       : to_statistics(cache.requests[i]));
    result.total.requests += result.by_core.back();
  }
  result.total.evictions = e.evictions;
  result.total.write_backs_out = e.write_backs_out;
  result.total.write_backs_in = e.write_backs_in;
  result.total.back_invalidations = e.back_invalidations;
  result.total.flushed_lines = e.flushed_lines;
  result.total.upgrades = e.upgrades;
  result.total.invalidations_sent = e.invalidations_sent;
  result.total.invalidations_received = e.invalidations_received;
  result.total.downgrades = e.downgrades;
  result.total.interventions = e.interventions;
  result.total.dirty_interventions = e.dirty_interventions;
  result.total.clean_supplies = e.clean_supplies;
  result.total.supplied_by_children = e.supplied_by_children;
  result.total.victims_in = e.victims_in;
  result.total.writes_passed_on = e.writes_passed_on;
  if (const PrefetchUnit* unit = tree_.prefetch_unit(id)) {
    result.total.prefetches_issued = unit->issued;
    result.total.prefetches_redundant = unit->redundant;
    result.total.prefetches_useful = unit->useful;
    result.total.prefetches_late = unit->late;
    result.total.prefetches_unused = unit->unused;
  }
  result.sharing_degrees = cache.sharing_degrees;
  for (const NodeId child : tree_.node(id).children) {
    // Every request that arrives asks all other children.
    if (config_.requests != Requests::kSnooping) break;
    result.total.snoops_sent += tree_.cache(child).events.upgrades * (tree_.node(id).children.size() - 1);
  }
  if (config_.requests == Requests::kSnooping && tree_.node(id).level > 0) {
    const AccessCounts& a = result.total.requests.accesses;
    result.total.snoops_sent += (a.demand() + a.prefetches) * (tree_.node(id).children.size() - 1);
  }
  return result;
}

// Level 1 is counted at the ports of the cores; a unified one has two of them.
RequestStatistics Hierarchy::port_statistics(NodeId id, uint32_t core) const {
  RequestStatistics result;
  for (const Port* port : {&ports_[2 * core], &ports_[2 * core + 1]})
    if (port->node == id) result += to_statistics(port->counts);
  return result;
}

CoreStatistics Hierarchy::core_statistics(uint32_t core) const {
  for (const uint32_t i : {2 * core, 2 * core + 1}) count_answered(ports_[i]);
  CoreStatistics result;
  const auto references = [&](Access kind) {
    const Port& port = ports_[2 * core + (kind != Access::kFetch)];
    result.line_crossings += port.extra_lines[index(kind)];
    return port.counts.accesses[index(kind)] - port.extra_lines[index(kind)];
  };
  result.fetches = references(Access::kFetch);
  result.loads = references(Access::kLoad);
  result.stores = references(Access::kStore);
  result.read_modify_writes = references(Access::kReadModifyWrite);
  result.prefetches = references(Access::kPrefetch);
  result.flushes = references(Access::kFlush);
  result.served.resize(config_.levels.size() + 1);
  result.upgrades.resize(config_.levels.size() + 1);
  for (const bool is_data : {false, true}) {
    if (tlbs_.empty()) break;
    uint64_t accesses = 0;
    for (const uint64_t count : ports_[2 * core + is_data].counts.accesses) accesses += count;
    (is_data ? result.data_tlb : result.fetch_tlb) = tlbs_[core].counts(!is_data, accesses);
  }
  for (const Port* port : {&ports_[2 * core], &ports_[2 * core + 1]}) {
    AccessCounts& level1 = result.served[0];
    const RequestStatistics requests = to_statistics(port->counts);
    level1 += requests.hits();
    for (size_t level = 1; level < result.served.size(); ++level) add(result.served[level], port->served[level]);
    add(result.handed_over, port->handed_over);
    for (size_t level = 0; level < result.upgrades.size(); ++level) result.upgrades[level] += port->upgrades[level];
  }
  return result;
}

}  // namespace simrun::sim

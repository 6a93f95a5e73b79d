#include "cli/stream_consumer.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>

#include "cli/print_error.h"

namespace simrun::cli {

namespace {

constexpr uint32_t kDetached = 2, kFailed = 3;  // ProcessHeader::engine_state

// How fast the time stamp counter counts, measured from the start of simrun until it is asked.
class TickRate {
 public:
  double seconds(uint64_t ticks) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    return static_cast<double>(ticks) * elapsed.count() / static_cast<double>(__builtin_ia32_rdtsc() - start_ticks_);
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const uint64_t start_ticks_ = __builtin_ia32_rdtsc();
};
const TickRate g_tick_rate;

EngineCounts engine_counts(const border::ProcessHeader& header) {
  const border::EngineStatistics& s = header.statistics;
  return {.superblocks = s.superblocks,
          .translated_instructions = s.translated_instructions,
          .code_bytes = s.code_bytes,
          .links = s.links,
          .dispatches_new = s.dispatches_new,
          .dispatches_link = s.dispatches_link,
          .dispatches_indirect = s.dispatches_indirect,
          .dispatches_syscall = s.dispatches_syscall,
          .dispatches_check = s.dispatches_check,
          .dispatches_other = s.dispatches_other,
          .signals = s.signals,
          .faults = s.faults,
          .flushes = s.flushes,
          .protected_pages = s.protected_pages,
          .pages_given_back = s.pages_given_back,
          .indirect_targets = s.indirect_targets,
          .translation_seconds = g_tick_rate.seconds(s.translation_ticks),
          .renewals = s.renewals,
          .paths = header.paths + s.forgotten_paths};
}

// Drain with the interface of Merge, over all processes.
class Drains {
 public:
  static bool is_expected(const channel::Origin&) { return true; }
  void add_process(const channel::MappedProcess& mapped, const channel::Origin&) {
    drains_.push_back(std::make_unique<channel::Drain>(mapped));
    alive_.push_back(true);
    status_.push_back(channel::Status::kIdle);
  }
  void set_alive(uint32_t index, bool alive) { alive_[index] = alive; }
  bool is_done(uint32_t index) const { return status_[index] == channel::Status::kFinished; }
  // In the place of one that is done.
  void add_nothing() {
    drains_.emplace_back();
    alive_.push_back(false);
    status_.push_back(channel::Status::kFinished);
  }
  void forget(uint32_t index) {
    words_ += drains_[index]->words();
    drains_[index].reset();
  }
  channel::Status advance() {
    bool moved = false, finished = true;
    for (size_t k = 0; k < drains_.size(); ++k) {
      if (drains_[k] == nullptr) continue;
      status_[k] = drains_[k]->advance(alive_[k]);
      moved |= status_[k] == channel::Status::kAdvanced;
      finished &= status_[k] == channel::Status::kFinished;
    }
    return moved ? channel::Status::kAdvanced : finished ? channel::Status::kFinished : channel::Status::kIdle;
  }
  uint64_t words() const {
    uint64_t all = words_;
    for (const auto& d : drains_) all += d == nullptr ? 0 : d->words();
    return all;
  }

 private:
  std::vector<std::unique_ptr<channel::Drain>> drains_;
  std::vector<bool> alive_;
  std::vector<channel::Status> status_;
  uint64_t words_ = 0;
};

}  // namespace

StreamConsumer::StreamConsumer(host::Family& family, Progress& progress, const ProgramOptions& options)
    : family_(family),
      progress_(progress),
      wait_for_children_(options.wait_for_children),
      limits_(options.attach),
      diagnosis_(options.engine_log, options.perf_map) {
  watch(family_, bell_, guardian_);
}

bool StreamConsumer::ended() {
  if (family_.main_runs()) return false;
  if (signals_at_end_ < 0) signals_at_end_ = signals_seen();
  if (!wait_for_children_) {
    family_.stop_following();
    return true;
  }
  return newcomers_.empty() && std::none_of(living_.begin(), living_.end(), [&](uint32_t index) { return family_[index].running(); });
}

bool StreamConsumer::is_counting() const {
  const auto counts = [&](uint32_t index) { return mapped_[index]->header().mode == border::Mode::kCount; };
  return !living_.empty() && std::all_of(living_.begin(), living_.end(), counts);
}

bool StreamConsumer::writes(uint32_t index) {
  if (ended() || !family_[index].running()) return false;
  const uint32_t state = family_[index].header().engine_state.load(std::memory_order_acquire);
  return state != kDetached && state != kFailed;
}

// The user is impatient: the program is gone and here is another signal, while a backlog is simulated.
bool StreamConsumer::given_up(RunResult& result) {
  if (signals_at_end_ < 0 || signals_seen() == signals_at_end_) return false;
  result.error = "interrupted before the whole stream was simulated";
  return true;
}

void StreamConsumer::nap(std::chrono::microseconds time) {
  const timespec t{0, static_cast<long>(time.count()) * 1000};
  nanosleep(&t, nullptr);
}

// One that counts says it in its stream only where something happens.
uint64_t StreamConsumer::executed(const channel::ThreadReport& thread) const {
  const channel::MappedProcess* const process = mapped_[thread.process].get();
  const uint64_t read = thread.statistics.instructions;
  return thread.ended || process == nullptr ? read : std::max(read, process->slot(thread.slot).retired.load(std::memory_order_relaxed));
}

void StreamConsumer::show(const std::vector<channel::ThreadReport>& threads) {
  channel::ThreadStatistics sum;
  uint64_t living = 0;
  for (const auto& thread : threads) {
    sum += thread.statistics;
    living += thread.ended ? 0 : 1;
  }
  progress_.show(sum.instructions, sum.loads + sum.stores, living);
}

// Nothing: it comes from one that has not been let in itself.
std::optional<channel::Origin> StreamConsumer::origin_of(uint32_t newcomer) const {
  using Kind = host::Family::Birth::Kind;
  const auto birth = family_.birth_of_arrival(newcomer);
  if (!birth) return std::nullopt;
  switch (birth->kind) {
    case Kind::kLaunched:
      return channel::Origin{};
    case Kind::kForked:
      return channel::Origin{channel::Origin::Kind::kFork, birth->parent, birth->token, birth->root_slot};
    case Kind::kExecuted:
      return channel::Origin{channel::Origin::Kind::kExec, birth->parent, 0, birth->root_slot};
  }
  return channel::Origin{};
}

bool StreamConsumer::has_newcomer_by_exec(uint32_t process) const {
  return std::any_of(newcomers_.begin(), newcomers_.end(), [&](uint32_t newcomer) {
    const auto origin = origin_of(newcomer);
    return origin && origin->kind == channel::Origin::Kind::kExec && origin->parent == process;
  });
}

channel::ChildState StreamConsumer::child(uint32_t parent, uint64_t token, uint64_t pid) {
  switch (family_.child(parent, token, static_cast<pid_t>(pid))) {
    case host::Family::ChildState::kPending:
      return channel::ChildState::kPending;
    case host::Family::ChildState::kFollowed:
      return channel::ChildState::kFollowed;
    case host::Family::ChildState::kNative:
      return channel::ChildState::kNative;
  }
  return channel::ChildState::kNative;
}

// It is looked after from now on, whenever it is let in.
void StreamConsumer::greet() {
  for (; !all_greeted(); ++greeted_) {
    host::Target& target = family_.arrival(greeted_);
    if (guardian_ != nullptr) guardian_->guard(target);
    bell_.add(target.header().consumer_sleeps);
    newcomers_.push_back(greeted_);
  }
}

void StreamConsumer::let_in(size_t newcomer, RunResult& result) {
  family_.admit(newcomers_[newcomer]);
  newcomers_.erase(newcomers_.begin() + static_cast<ptrdiff_t>(newcomer));
  const auto index = static_cast<uint32_t>(mapped_.size());
  host::Target& target = family_[index];
  mapped_.push_back(std::make_unique<channel::MappedProcess>(target.mapping()));
  living_.push_back(index);
  result.processes.push_back({index, target.pid(), family_.command(index)});
}

void StreamConsumer::take_leave(uint32_t index, RunResult& result) {
  border::ProcessHeader& header = family_[index].header();
  if (!family_.is_attached() && family_[index].running()) {   // it goes on without us
    if (ended()) ++result.left_running;
    __atomic_store_n(&header.simulator_pid, 0, __ATOMIC_RELAXED);
  }
  diagnosis_.finish(family_[index]);
  if (header.report[0] != 0) {
    progress_.clear();
    print_error("{:.{}}", header.report, sizeof header.report - 1);
  }
  if (header.engine_state == kFailed) {
    constexpr size_t kMostNamed = 20;
    std::string why = fmt::format("the engine gave up in process {}: {:.{}}", family_[index].pid(), header.failure, sizeof header.failure - 1);
    if (result.error.empty())
      result.error = std::move(why);
    else if (result.warnings.size() < kMostNamed)
      result.warnings.push_back(std::move(why));
  }
  result.engine += engine_counts(header);
  bell_.remove(header.consumer_sleeps);
  mapped_[index].reset();
  family_.forget(index);
}

// The program has ended. Those of its children that have not go on without us.
void StreamConsumer::finish(RunResult& result) {
  while (family_.main_runs()) {
    family_.poll();
    nap(std::chrono::milliseconds(1));
  }
  greet();
  while (!newcomers_.empty()) let_in(0, result);   // parents come before their children
  for (const uint32_t index : living_) take_leave(index, result);
  living_.clear();
  if (guardian_ != nullptr) guardian_->forget_all();
  result.native_images = family_.native_images();
  const std::vector<std::string> warnings = family_.warnings();
  result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
  if (!diagnosis_.problem().empty()) result.warnings.push_back(diagnosis_.problem());
}

void StreamConsumer::drain(RunResult& result) {
  Drains drains;
  for (const auto& mapped : mapped_)
    if (mapped != nullptr)
      drains.add_process(*mapped, {});
    else
      drains.add_nothing();
  try {
    loop(drains, [] { return std::vector<channel::ThreadReport>(); }, [] { return false; }, result);
  } catch (const channel::StreamError& error) {
    // Not even the rings' numbers hold: nothing can keep the program from blocking on a full ring.
    result.error += fmt::format("{}{}; the program was killed", result.error.empty() ? "" : "; then ", error.what());
    family_.forward_signal(SIGKILL);
  }
  finish(result);
  result.drained_words = drains.words();
}

}  // namespace simrun::cli

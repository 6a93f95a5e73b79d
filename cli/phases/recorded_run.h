// A trace instead of a run: into the sinks that otherwise get the streams of a program, with the same calls in the
// order in which it was recorded.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/phases/process_origin.h"
#include "cli/phases/stored_process.h"
#include "cli/progress.h"
#include "cli/replay_chunks.h"
#include "cli/run_result.h"
#include "cli/trace_cores.h"
#include "instr/border/stream.h"
#include "instr/channel/counting_sink.h"
#include "instr/channel/merge.h"
#include "instr/channel/replay_cut.h"
#include "traces/reader.h"
#include "traces/replay.h"

namespace simrun::cli {

class RecordedRun {
 public:
  // Throws UserError or traces::TraceError. A trace that ends early is as good as a run that did.
  explicit RecordedRun(const std::string& path);

  const traces::Reader& trace() const { return trace_; }
  std::vector<std::string> command() const;
  OriginOf origins() const;

  // `line_bytes`, `cores`: as ProgramRun::into(). Threads are on the cores that the trace says for a machine of as
  // many.
  template <class Sink>
  RunResult into(Sink& sink, uint32_t line_bytes, uint32_t cores, bool quiet);

 private:
  traces::Reader trace_;
};

// By which events name them, by thread. Of a trace that does not say: none.
std::map<uint32_t, uint32_t> slots_of_threads(const nlohmann::json& summary);

// What a Merge does with live streams.
template <class Sink>
class RecordedStreams {
 public:
  RecordedStreams(const traces::Reader& trace, Sink& sink, uint32_t line_bytes, uint32_t cores)
      : sink_(sink), cores_(cores), follows_cores_(recorded_cores(trace.information()) == cores), slots_(slots_of_threads(trace.summary())) {
    for (uint32_t p = 0; p < trace.processes(); ++p) {
      processes_.push_back(std::make_unique<StoredProcess>(trace.process(p)));
      paths_.push_back(std::make_unique<channel::PathTable>(processes_.back()->mapped(), line_bytes));
    }
    if (!follows_cores_) cores_of_threads_ = cores_of_threads(trace.summary(), cores);
  }

  // All of the chunk, whatever the bounds.
  void run(const traces::Chunk& chunk, uint64_t, uint64_t) {
    std::vector<Position> positions;
    for (const traces::ThreadPart& part : chunk.threads) positions.push_back({&part, part.words.data()});
    for (const traces::Turn& turn : chunk.turns) {
      Position& position = positions[turn.part];
      if (position.thread == nullptr) {
        position.thread = &thread_of(*position.part);
        position.thread->replay.bases = {position.part->fs, position.part->gs};
      }
      for (uint32_t k = 0; k < turn.items; ++k) position.at += item(*position.thread, position.at);
    }
  }
  bool over() const { return false; }

  std::vector<channel::ThreadReport> reports() const {
    std::vector<channel::ThreadReport> all;
    for (const auto& [index, thread] : threads_) {
      all.push_back(thread->report);
      all.back().statistics = thread->replay.statistics;
    }
    return all;
  }

 private:
  struct Position {
    const traces::ThreadPart* part;
    const uint64_t* at;
    channel::MergeThread* thread = nullptr;
  };

  channel::MergeThread& thread_of(const traces::ThreadPart& part) {
    auto& thread = threads_[part.thread];
    if (thread != nullptr) return *thread;
    const auto said = slots_.find(part.thread);
    const uint32_t slot = said != slots_.end() ? said->second : part.thread % border::kMaxThreads;
    thread = std::make_unique<channel::MergeThread>(processes_[part.process]->mapped(), part.process, slot);
    thread->report.index = thread->report.core = part.thread;
    thread->report.tid = part.tid;
    if (const auto own = cores_of_threads_.find(part.thread); own != cores_of_threads_.end())
      thread->report.core = own->second;
    thread->replay.handle = sink_.start_thread(thread->report);
    return *thread;
  }

  // A path or an event; returns its words.
  size_t item(channel::MergeThread& thread, const uint64_t* words) {
    const uint64_t word = words[0];
    if (static_cast<uint32_t>(word) < border::kFirstPath) return event(thread, words);
    channel::PathTable& paths = *paths_[thread.process];
    if (paths.length(word) == 0) paths.decode(word);
    const channel::DecodedPath& path = paths[word];
    if (sink_.enter_path(thread, words, paths))
      channel::replay(path, words, thread.replay, sink_);
    else
      channel::replay(path, words, thread.replay, counting_);
    return 1 + path.words;
  }

  size_t event(channel::MergeThread& thread, const uint64_t* words) {
    using border::Event;
    const size_t size = 1 + (words[0] >> 32);
    const std::span<const uint64_t> payload(words + 1, size - 1);
    const auto id = static_cast<uint32_t>(words[0]);
    if (id == static_cast<uint32_t>(traces::Event::kCore)) {
      change_core(thread, payload);
      return size;
    }
    if (id > static_cast<uint32_t>(traces::Event::kCore) && traces::changes_memory(id)) {  // not the program's
      if constexpr (requires { sink_.forget_process(0u); })
        if (id == static_cast<uint32_t>(traces::Event::kProcessEnd)) sink_.forget_process(thread.process);
      return size;
    }
    sink_.event(thread, {words, size}, *paths_[thread.process]);
    if (id == static_cast<uint32_t>(Event::kThreadStart) && payload.size() >= 3) thread.replay.bases.fs = payload[2];
    if (id == static_cast<uint32_t>(Event::kFsBase) && !payload.empty()) thread.replay.bases.fs = payload[0];
    if (id == static_cast<uint32_t>(Event::kGsBase) && !payload.empty()) thread.replay.bases.gs = payload[0];
    if (id == static_cast<uint32_t>(Event::kCut) && payload.size() >= 3)
      channel::replay_cut(*paths_[thread.process], payload, thread.replay, sink_);
    return size;
  }

  void change_core(channel::MergeThread& thread, std::span<const uint64_t> payload) {
    if (payload.size() < 2) throw traces::FormatError("a change of cores without a core");
    if constexpr (channel::FollowsCores<Sink>) {
      if (!follows_cores_) return;
      if (payload[0] >= cores_) throw traces::FormatError(fmt::format("core {} of a machine of {}", payload[0], cores_));
      // Said again, for readers that begin there. The thread may be waiting, and another one run on that core.
      uint64_t& core = running_on_.try_emplace(thread.report.index, traces::ReplayThread::kNoCore).first->second;
      if (payload[1] == 0 && core == payload[0]) return;
      core = payload[0];
      thread.report.core = static_cast<uint32_t>(payload[0]);
      thread.replay.handle = sink_.run_on(thread.report);
      if (payload[1] != 0) thread.replay.last_line = channel::ReplayState().last_line;  // the core has forgotten it
    }
  }

  Sink& sink_;
  const uint32_t cores_;
  bool follows_cores_;
  std::map<uint32_t, uint32_t> cores_of_threads_, slots_;
  std::map<uint32_t, uint64_t> running_on_;  // by thread, as Event::kCore said last
  std::vector<std::unique_ptr<StoredProcess>> processes_;
  std::vector<std::unique_ptr<channel::PathTable>> paths_;
  std::map<uint32_t, std::unique_ptr<channel::MergeThread>> threads_;
  channel::CountingSink counting_;
};

template <class Sink>
RunResult RecordedRun::into(Sink& sink, uint32_t line_bytes, uint32_t cores, bool quiet) {
  RunResult result;
  const auto start = std::chrono::steady_clock::now();
  Progress progress(!quiet);
  RecordedStreams<Sink> streams(trace_, sink, line_bytes, cores);
  replay_all(trace_, streams, 0, ~uint64_t{0}, progress);
  result.threads = streams.reports();
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace simrun::cli

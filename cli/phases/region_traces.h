// The traces of regions, out of one run: each begins at a stop (with the warm-up) and ends at another; several may be
// open at a time, as the warm-up of one may hold the region of another.
//
// A file holds the descriptions of the code that runs in it, under numbers of its own, not of all code of the run. On which
// cores of the machine its threads are, it says as a trace that is recorded with a machine (traces::Event::kCore).
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/trace_modules.h"
#include "instr/channel/path_table.h"
#include "instr/channel/virtual_time.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace simrun::cli {

struct RegionTrace {
  std::string file;
  nlohmann::ordered_json region;  // of the summary (docs/trace-format.md), without what the run adds
};

class RegionTraces {
 public:
  // `cores`: of the machine. `recorded`: nullptr, or the trace that they are cut from: what it says of modules is all
  // there is.
  RegionTraces(nlohmann::ordered_json information, uint32_t cores, const traces::Reader* recorded = nullptr)
      : information_(std::move(information)), cores_(cores), recorded_(recorded) {
    information_["options"]["cores"] = cores;
  }

  // `instructions`: of the run before it. Throws UserError when the file cannot be written.
  void begin(size_t id, const RegionTrace& trace, uint64_t instructions);
  // Its warm-up is over.
  void end_warm_up(size_t id, uint64_t instructions);
  // The file is complete. Throws UserError when not all of it could be written. Nothing when it was not begun.
  void end(size_t id, uint64_t instructions);
  bool any() const { return !open_.empty(); }

  // Every item of the streams while any() is true; each call after meet().
  void add_path(channel::MergeThread& thread, std::span<const uint64_t> words, uint32_t instructions,
                const channel::PathTable& paths);
  void add_event(channel::MergeThread& thread, std::span<const uint64_t> words, const channel::PathTable& paths);

  // A thread gets a core, whether anything of it was in a trace or not.
  void run_on(const channel::ThreadReport& thread);

  // A process, and what it has mapped now: at its first item and whenever its mappings change.
  void look_at_modules(const channel::MergeThread& thread, const channel::PathTable& paths);

 private:
  class File;
  struct Process {
    TraceModules modules;
    std::vector<traces::Module> known;
  };

  nlohmann::ordered_json information_;
  uint32_t cores_;
  const traces::Reader* recorded_;
  std::map<uint32_t, Process> processes_;
  std::map<size_t, std::shared_ptr<File>> open_;
};

}  // namespace simrun::cli

// What is on disk of a job, in FOLDER/PROGRAM/MACHINE: TASK of one that succeeded, TASK.failed of the last that did not, TASK.new while it runs; in
// each job.json (what it was, how it ended), stdout, stderr, the result, machine.yaml, and work, where the program ran.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/batch/plan.h"

namespace simrun::cli {

struct JobState {
  enum class Is { kDone, kRunning, kFailed, kChanged, kToDo } is = Is::kToDo;
  std::string why;      // failed: the reason; changed: what is another now
  std::string ended;  // done, failed: UTC, ISO 8601 with milliseconds
};

// A job that this process has taken; nobody else has, on any host (flock: also when this process is killed), nor on this host as long as
// the job's process lives.
class TakenJob {
 public:
  ~TakenJob();
  TakenJob(TakenJob&& other) noexcept;
  TakenJob(const TakenJob&) = delete;
  TakenJob& operator=(const TakenJob&) = delete;
  // Who runs it, for when this process is killed.
  void set_process(pid_t process);

 private:
  friend class JobFolder;
  explicit TakenJob(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

class JobFolder {
 public:
  JobFolder(const Plan& plan, const Job& job);

  // kRunning is found only with `look_for_runs`, which takes the job for a moment. Throws UserError when it may not be known.
  JobState state(bool look_for_runs = false) const;
  // None: another call runs it. Throws UserError.
  std::optional<TakenJob> take() const;
  // An empty folder for a run of it, or what an interrupted one of the same left, if that is of use; in it the machine, and links to the program's files.
  // From here on the definition has the files as they are now. Throws UserError.
  void begin();
  // Which files are others than when it began; empty: none.
  std::string changed_files() const;
  // How a run ended. `end`: for job.json, besides what it was. Throw UserError.
  void succeeded(const nlohmann::json& end) const;
  void failed(const nlohmann::json& end) const;
  void interrupted() const;
  // What there is of the run cannot be kept.
  void discard() const;

  TaskFiles files_in_new() const;
  // While it runs.
  std::string new_path(const char* name) const { return new_ + "/" + name; }
  // When it is done.
  std::string done_path(const char* name) const { return done_ + "/" + name; }
  std::string failed_path(const char* name) const { return failed_ + "/" + name; }

 private:
  std::string lock_path() const;
  void write_record(const nlohmann::json& end) const;
  void replace(const std::string& to) const;
  void bring_back_old() const;

  const Plan& plan_;
  const Job& job_;
  nlohmann::json definition_;
  std::string parent_, done_, failed_, new_;
};

}  // namespace simrun::cli

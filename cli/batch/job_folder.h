// What is on disk of a job, in FOLDER/PROGRAM/MACHINE: TASK of one that succeeded, TASK.failed of one that did not, TASK.new while it runs; in
// each job.json (what it was, how it ended), stdout, stderr, the result, and work, where the program ran.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/batch/plan.h"

namespace simrun::cli {

struct JobState {
  enum class Is { kDone, kChanged, kFailed, kToDo } is = Is::kToDo;
  std::string why;  // failed: the reason; changed: what is another now
};

// A job that this process has taken; nobody else has, on any host, until this goes (flock: also when the process is killed).
class TakenJob {
 public:
  ~TakenJob();
  TakenJob(TakenJob&& other) noexcept;
  TakenJob(const TakenJob&) = delete;
  TakenJob& operator=(const TakenJob&) = delete;

 private:
  friend class JobFolder;
  explicit TakenJob(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

class JobFolder {
 public:
  JobFolder(const Plan& plan, const Job& job);

  JobState state() const;
  // None: another call runs it. Throws UserError.
  std::optional<TakenJob> take() const;
  // An empty folder for a run of it, or what an interrupted one of the same left, if that is of use; links to the program's files.
  // Throws UserError.
  void begin() const;
  // How a run ended. `end`: for job.json, besides what it was. Throws UserError.
  void succeeded(const nlohmann::json& end) const;
  void failed(const nlohmann::json& end) const;
  void interrupted() const;

  // While it runs.
  std::string new_path(const char* name) const { return new_ + "/" + name; }
  // When it is done.
  std::string done_path(const char* name) const { return done_ + "/" + name; }
  std::string failed_path(const char* name) const { return failed_ + "/" + name; }

 private:
  void write_record(const nlohmann::json& end) const;
  void replace(const std::string& to) const;
  void bring_back_old() const;

  const Plan& plan_;
  const Job& job_;
  std::string parent_, done_, failed_, new_;
};

}  // namespace simrun::cli

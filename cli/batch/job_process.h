// A job's process: simrun, with what it runs, in a session of its own, so that nothing of it is at the terminal and all of it can be ended (but who made a session of its own).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "configs/read_suite.h"

namespace simrun::cli {

struct JobFiles {
  std::string work;            // where it runs, unless the program says where
  std::string output, errors;  // standard output, standard error
};

class JobProcess {
 public:
  // Starts `simrun` with `words` and `environment`. Throws UserError.
  JobProcess(const std::vector<std::string>& words, const configs::SuiteProgram& program, const std::vector<std::pair<std::string, std::string>>& environment,
             const JobFiles& files);
  ~JobProcess();
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  pid_t id() const { return pid_; }
  // Ready to read when it has ended.
  int descriptor() const { return descriptor_; }
  double seconds() const;

  // Now and then: whether it has ended, and then nothing of its session is left; one that takes too long, or was to end and does not, is killed.
  bool has_ended();
  // SIGTERM, to all of it.
  void end();
  bool is_told_to_end() const { return is_told_to_end_; }

  // When it has ended.
  int wait_status() const { return status_; }
  bool took_too_long() const { return took_too_long_; }

 private:
  using Clock = std::chrono::steady_clock;
  void kill_session() const;
  double time_limit_;
  Clock::time_point start_ = Clock::now(), told_to_end_;
  pid_t pid_ = -1;
  int descriptor_ = -1, status_ = 0;
  bool took_too_long_ = false, is_told_to_end_ = false;
};

}  // namespace simrun::cli

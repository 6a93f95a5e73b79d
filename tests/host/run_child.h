// Runs a command natively or through launch(), each in a process of its own with its standard streams in files, so that the two can be
// compared and so that a test can change limits, user or sandbox without harming the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "instr/host/target.h"

namespace simrun::host {

struct Outcome {
  int wait_status = -1;       // of the program
  std::string output, error;  // its standard output and standard error
  std::string refused;        // message of the UserError that launch() threw
  int refused_status = 0;
  std::string failure;        // header.failure
  uint32_t engine_state = 0;
  std::vector<std::string> warnings;
};

struct Setting {
  std::string input;                    // standard input
  std::function<void()> before;         // in the new process, before it starts the program
  std::function<void(Target&)> during;  // launched only: while the program runs
  bool aslr = false;
};

Outcome run_natively(const std::vector<std::string>& command, const Setting& setting = {});
Outcome run_launched(LaunchOptions options, const Setting& setting = {});
Outcome run_launched(const std::vector<std::string>& command, const Setting& setting = {});

std::string guest(const char* name);

}  // namespace simrun::host

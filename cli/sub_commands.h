// The table of sub-commands: `simrun NAME ...`. Without a known name, the words are those of `run`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/user_error.h"

namespace simrun::cli {

struct SubCommand {
  const char* name;
  const char* summary;  // one line of `simrun --help`
  // `words`: behind the name. Returns simrun's exit status. Throws TextWanted (command_line.h), UserError.
  int (*run)(const std::vector<std::string>& words);
  bool runs_programs = false;  // under the engine
};

std::span<const SubCommand> sub_commands();
const SubCommand* find_sub_command(const std::string& name);  // null: there is none
// There is none, nor a program of that name: the command that may be meant, and how programs are run.
UserError unknown_command(const std::string& name);

// One function per file NAME_command.cpp.
int run_command(const std::vector<std::string>& words);
int attach_command(const std::vector<std::string>& words);
int sharing_command(const std::vector<std::string>& words);
int bbv_command(const std::vector<std::string>& words);
int pinpoints_command(const std::vector<std::string>& words);
int batch_command(const std::vector<std::string>& words);
int simpoint_command(const std::vector<std::string>& words);
int record_command(const std::vector<std::string>& words);
int sim_command(const std::vector<std::string>& words);
int info_command(const std::vector<std::string>& words);
int check_command(const std::vector<std::string>& words);
int view_command(const std::vector<std::string>& words);
int convert_command(const std::vector<std::string>& words);
int config_command(const std::vector<std::string>& words);
int completion_command(const std::vector<std::string>& words);
int help_command(const std::vector<std::string>& words);

}  // namespace simrun::cli

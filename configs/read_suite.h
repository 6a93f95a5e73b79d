// Suites of programs from YAML files, for `simrun batch`. docs/batch.md documents the keys; reading is as strict as that of machines.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simrun::configs {

// Paths are absolute: relative ones of the file are from the folder that the file is in.
struct SuiteProgram {
  std::string name;                  // of its folder, too: letters, digits, '.', '_', '+', '-'
  std::vector<std::string> command;  // the program with its arguments; empty: `trace`
  std::string trace;                 // a trace file instead of a program
  std::string input;                 // standard input; empty: /dev/null
  std::string directory;             // where it runs; empty: in a new folder
  std::vector<std::string> files;    // found in that new folder, as links
  std::vector<std::pair<std::string, std::string>> environment;  // a later one of a name counts
  std::vector<std::string> inherit;  // variables that it has as simrun was started with them
  std::vector<std::string> options;  // of the simrun command that runs it
  bool keeps_output = true;          // false: what it writes to standard output goes to /dev/null
  int status = 0;                    // the exit status that means success
  double time_limit = 0;             // seconds; 0: none
};

struct Suite {
  std::string name, description, file;  // file: as found
  std::vector<std::string> machines;    // as for --config; those of the file are paths or bare names
  std::vector<SuiteProgram> programs;   // at least one; names differ
};

// What may name a folder of results.
bool is_name(const std::string& name);

// Reads a suite. `path_or_bare_name` as for machines (read_machine.h), the directory that of suites. Throws UserError with exit status 2.
Suite read_suite(const std::string& path_or_bare_name);

// Reads a suite from text; `file` is the name for messages, and tells the folder.
Suite parse_suite(const std::string& text, const std::string& file);

// The suites that a bare name means, but for those in the working directory: sorted.
std::vector<std::string> suite_names();

// Where the suites that come with simrun are; by default the source tree's configs/suites.
void set_suites_directory(const std::string& directory);

}  // namespace simrun::configs

// The jobs of a batch: each program of a suite on each machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "configs/read_suite.h"

namespace simrun::cli {

// What is done with each program: a command of simrun.
struct Task {
  const char* name;
  bool needs_machine, takes_traces;
  const char* result;     // in a job's folder: a file, or a folder
  const char* page;       // to look at, there too; null: there is none
  bool result_is_report;  // JSON that says whether it is complete
  const char* figures;    // JSON in a job's folder, for the table (batch_table.cpp); null: there are none
  bool goes_on;           // what an interrupted one leaves in its folder is of use to the next
};
const std::vector<Task>& tasks();

struct Job {
  size_t number;  // from 1, in the order of suite and machines
  const configs::SuiteProgram* program;
  std::string machine;         // its name, of a folder too; empty: nothing is simulated
  std::string machine_file;    // absolute, or "host"
  nlohmann::json definition;   // all that its result depends on; `machine` of it is a machine file
  std::string label() const { return machine.empty() ? program->name : program->name + "/" + machine; }
};

struct Plan {
  configs::Suite suite;
  const Task* task;
  std::string folder;                // absolute
  std::vector<std::string> options;  // of the task, for all programs, behind their own
  std::vector<Job> jobs;
};

// `machines`: as for --config; none: those of the suite. Throws UserError, exit status 2.
Plan make_plan(configs::Suite suite, const Task& task, const std::string& folder, std::vector<std::string> machines,
               std::vector<std::string> options);

// Where what a job's command reads and writes is.
struct TaskFiles {
  std::string machine, result, page;
};
// The words behind `simrun` of a job.
std::vector<std::string> task_words(const Plan& plan, const Job& job, const TaskFiles& files);

// What the files that a program's run depends on are now: `files` of the definition.
nlohmann::json files_of(const configs::SuiteProgram& program);

// All variables that a job's process has: a few of this process's, those that the program inherits, its own. With the caller's whole environment counts
// would be others from shell to shell: it lies on the program's stack.
std::vector<std::pair<std::string, std::string>> job_environment(const configs::SuiteProgram& program);

// Of JSON that holds names of files: bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::json& document);

}  // namespace simrun::cli

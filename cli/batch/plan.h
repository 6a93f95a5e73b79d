// The jobs of a batch: each program of a suite on each machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "configs/read_suite.h"

namespace simrun::cli {

// What is done with each program: a command of simrun.
struct Task {
  const char* name;
  bool needs_machine, takes_traces;
  const char* result;     // in a job's folder: a file, or a folder
  bool result_is_report;  // JSON that says whether it is complete
  const char* figures;    // JSON in a job's folder, for the table (batch_table.cpp); null: there are none
  bool goes_on;           // what an interrupted one leaves in its folder is of use to the next
};
const std::vector<Task>& tasks();

struct Job {
  size_t number;  // from 1, the same in every call with the same suite and machines
  const configs::SuiteProgram* program;
  std::string machine;         // its name, of a folder too; empty: the task takes none
  std::string machine_file;    // as for --config
  nlohmann::json definition;   // all that its result depends on
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

// The words behind `simrun` of a job whose result goes to `result`.
std::vector<std::string> task_words(const Plan& plan, const Job& job, const std::string& result);

// Of JSON that holds names of files: bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::json& document);

}  // namespace simrun::cli

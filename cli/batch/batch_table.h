// What the jobs of a batch found out, side by side. docs/batch.md says what the columns are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/batch/plan.h"

namespace simrun::cli {

// A value of a row: in the CSV, in the table for people, or both.
struct BatchFigure {
  std::string column, value;        // of the CSV; empty: not there
  std::string heading, shown;       // of the table; empty: not there
  std::optional<double> averaged;   // over programs, in the table
};

// One simulation: a job's, or one machine of its sweep.
struct BatchRow {
  std::string program, machine;  // machine: with the settings of a sweep
  std::vector<BatchFigure> figures;
};

struct BatchRows {
  std::vector<BatchRow> rows;
  std::vector<std::string> damaged;  // what is said of results that cannot be read
};
// Of the jobs that are done, in their order; the task has figures.
BatchRows read_rows(const Plan& plan, const std::vector<const Job*>& jobs);

// A part for each machine; with the mean of several programs.
std::string batch_table(const std::vector<BatchRow>& rows);
std::string batch_csv(const std::vector<BatchRow>& rows);

}  // namespace simrun::cli

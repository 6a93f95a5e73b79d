// Matrices (write_matrix.h), weights and labels from files that simrun or SimPoint 3.2 wrote: plain, gzip or zstd.
#pragma once

#include <string>
#include <vector>

#include "simpoint/write_matrix.h"

namespace simrun::simpoint {

struct MatrixFile {
  Points rows;
  std::vector<double> weights;  // of the rows; empty: the file has none
};

// Throws UserError with file and place: no such matrix, rows of several lengths, numbers that are not finite.
MatrixFile read_matrix(const std::string& path, MatrixForm form);

// The first word of each line: labels, or what stands before a distance.
std::vector<std::string> read_first_words(const std::string& path);
// The same as numbers above 0. Throws UserError with file and line.
std::vector<double> read_weights(const std::string& path);

}  // namespace simrun::simpoint

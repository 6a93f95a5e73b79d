// Rows of numbers as SimPoint 3.2 keeps them: projected vectors, centres, projection matrices. Compressed by the name
// (write_bytes.h).
//
// Text: `N:w` (without w: no weights), then for each row its weight, its length with a colon, its elements. Binary,
// little-endian: u32 rows, u32 1 with weights or 0, then for each row f64 weight (if any), u32 length, f64 elements.
#pragma once

#include <span>
#include <string>

#include "simpoint/projection.h"

namespace simrun::simpoint {

enum class MatrixForm : uint8_t { kText, kBinary };

// `weights`: of the rows; empty: none are written. Text has 17 digits, so that the same numbers are read back.
void write_matrix(const std::string& path, MatrixForm form, const Points& rows, std::span<const double> weights);

// A weight in each line.
void write_weights(const std::string& path, std::span<const double> weights);

}  // namespace simrun::simpoint

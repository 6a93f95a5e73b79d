#include "simpoint/write_matrix.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>

#include "simpoint/write_bytes.h"

namespace simrun::simpoint {

namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_row(std::string& to, MatrixForm form, std::span<const double> row, const double* weight) {
  if (form == MatrixForm::kBinary) {
    if (weight) put(to, *weight);
    put(to, static_cast<uint32_t>(row.size()));
    for (const double x : row) put(to, x);
    return;
  }
  const auto end = std::back_inserter(to);
  if (weight) fmt::format_to(end, "{:.17g} ", *weight);
  fmt::format_to(end, "{}: ", row.size());
  for (const double x : row) fmt::format_to(end, "{:.17g} ", x);
  to += '\n';
}

}  // namespace

void write_matrix(const std::string& path, MatrixForm form, const Points& rows, std::span<const double> weights) {
  const auto writer = ByteWriter::open(path);
  std::string text;
  if (form == MatrixForm::kBinary) {
    put(text, static_cast<uint32_t>(rows.rows()));
    put(text, static_cast<uint32_t>(!weights.empty()));
  } else {
    text = fmt::format("{}:{}\n", rows.rows(), weights.empty() ? "" : "w");
  }
  const auto length = static_cast<size_t>(rows.cols());
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    put_row(text, form, {rows.data() + i * rows.cols(), length},
            weights.empty() ? nullptr : &weights[static_cast<size_t>(i)]);
    if (text.size() < 1 << 16) continue;
    writer->write(text);
    text.clear();
  }
  writer->write(text);
  writer->finish();
}

void write_weights(const std::string& path, std::span<const double> weights) {
  std::string text;
  for (const double weight : weights) fmt::format_to(std::back_inserter(text), "{:.17g}\n", weight);
  write_whole(path, text);
}

}  // namespace simrun::simpoint

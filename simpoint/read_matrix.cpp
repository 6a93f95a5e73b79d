#include "simpoint/read_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/user_error.h"
#include "simpoint/read_lines.h"

namespace simrun::simpoint {

namespace {

// Takes the next word off `text`; empty: there is none.
std::string_view next_word(std::string_view& text) {
  const size_t from = std::min(text.find_first_not_of(" \t\r"), text.size());
  const size_t to = std::min(text.find_first_of(" \t\r", from), text.size());
  const std::string_view word = text.substr(from, to - from);
  text.remove_prefix(to);
  return word;
}

template <class T>
T number(const LineReader& lines, std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(static_cast<double>(value)))
    lines.fail(fmt::format("`{}` where a number was expected", word));
  return value;
}

uint32_t length_with_colon(const LineReader& lines, std::string_view word) {
  if (!word.ends_with(':')) lines.fail(fmt::format("`{}` where a length and a colon were expected", word));
  return number<uint32_t>(lines, word.substr(0, word.size() - 1));
}

// Rows as they come; the first says how long all are.
class Rows {
 public:
  // False: not as long as those before, or empty.
  bool add(uint32_t length) {
    if (rows_++ == 0) length_ = length;
    return length == length_ && length != 0;
  }
  void put(double value) { values_.push_back(value); }
  Points take() const {
    return Eigen::Map<const Points>(values_.data(), static_cast<Eigen::Index>(rows_),
                                    static_cast<Eigen::Index>(length_));
  }

 private:
  size_t rows_ = 0, length_ = 0;
  std::vector<double> values_;
};

MatrixFile read_text(const std::string& path) {
  LineReader lines(path);
  std::string line;
  if (!lines.next(line)) throw UserError(path + ": nothing in it");
  std::string_view head = line;
  std::string_view size = next_word(head);
  const bool weighted = size.ends_with('w');
  if (weighted) size.remove_suffix(1);
  const uint32_t count = length_with_colon(lines, size);
  if (count == 0) lines.fail("no row");
  MatrixFile made;
  Rows rows;
  for (uint32_t i = 0; i < count; ++i) {
    if (!lines.next(line)) lines.fail(fmt::format("ends behind {} of {} rows", i, count));
    std::string_view words = line;
    if (weighted) made.weights.push_back(number<double>(lines, next_word(words)));
    const uint32_t length = length_with_colon(lines, next_word(words));
    if (!rows.add(length)) lines.fail(fmt::format("a row of {} elements", length));
    for (uint32_t d = 0; d < length; ++d) rows.put(number<double>(lines, next_word(words)));
    if (!next_word(words).empty()) lines.fail("a row longer than it says");
  }
  made.rows = rows.take();
  return made;
}

// Takes values off the bytes of a binary matrix.
class Taker {
 public:
  explicit Taker(const std::string& path) : path_(path), bytes_(read_whole(path)) {}
  template <class T>
  T take() {
    if (left() < sizeof(T)) fail("it is cut off, or no matrix in SimPoint's binary form");
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  double take_finite() {
    const auto value = take<double>();
    if (!std::isfinite(value)) fail("not a finite number");
    return value;
  }
  size_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}: byte {}: {}", path_, at_, what));
  }

 private:
  std::string path_, bytes_;
  size_t at_ = 0;
};

MatrixFile read_binary(const std::string& path) {
  Taker bytes(path);
  const auto count = bytes.take<uint32_t>(), weighted = bytes.take<uint32_t>();
  if (count == 0 || weighted > 1) bytes.fail("no matrix in SimPoint's binary form");
  MatrixFile made;
  Rows rows;
  for (uint32_t i = 0; i < count; ++i) {
    if (weighted != 0) made.weights.push_back(bytes.take_finite());
    const auto length = bytes.take<uint32_t>();
    if (!rows.add(length)) bytes.fail(fmt::format("row {} has {} elements", i, length));
    for (uint32_t d = 0; d < length; ++d) rows.put(bytes.take_finite());
  }
  if (bytes.left() != 0) bytes.fail(fmt::format("{} bytes behind {} rows", bytes.left(), count));
  made.rows = rows.take();
  return made;
}

}  // namespace

MatrixFile read_matrix(const std::string& path, MatrixForm form) {
  return form == MatrixForm::kText ? read_text(path) : read_binary(path);
}

std::vector<std::string> read_first_words(const std::string& path) {
  LineReader lines(path);
  std::vector<std::string> made;
  for (std::string line; lines.next(line);) {
    std::string_view words = line;
    if (const std::string_view word = next_word(words); !word.empty()) made.emplace_back(word);
  }
  if (made.empty()) throw UserError(path + ": nothing in it");
  return made;
}

std::vector<double> read_weights(const std::string& path) {
  LineReader lines(path);
  std::vector<double> made;
  for (std::string line; lines.next(line);) {
    std::string_view words = line;
    const std::string_view word = next_word(words);
    if (word.empty()) continue;
    made.push_back(number<double>(lines, word));
    if (!(made.back() > 0)) lines.fail(fmt::format("the weight {} (must be above 0)", word));
  }
  if (made.empty()) throw UserError(path + ": nothing in it");
  return made;
}

}  // namespace simrun::simpoint

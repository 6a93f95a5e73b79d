// Frequency vectors into a file, as they come: SimPoint's text (any name; .gz and .zst compressed) or HDF5 (.h5,
// .hdf5).
//
// Text: one line `T:id:count :id:count ...` for each interval, none longer than SimPoint 3.2 can read; before it a
// comment with what else is known of the interval, at the end comments on the blocks and the run. SimPoint ignores
// them, read_profile() does not. docs/phases.md has the grammar and the HDF5 schema.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "simpoint/profile.h"
#include "simpoint/projection.h"

namespace simrun::simpoint {

class ProfileWriter {
 public:
  // Throws UserError when the file cannot be written.
  static std::unique_ptr<ProfileWriter> open(const std::string& path);
  virtual ~ProfileWriter() = default;  // not finished: no file

  // `entries`: not empty, each block once.
  virtual void add(const Interval& interval, std::span<const Entry> entries) = 0;
  // All but the intervals of `profile`, which are written already.
  virtual void finish(const Profile& profile) = 0;
};

const char* to_word(IntervalKind kind);
// False: no such word.
bool from_word(const std::string& word, IntervalKind& kind);

// Lines of SimPoint 3.2's reader end here.
constexpr size_t kLongestLine = (1 << 20) - 1;

// `T:...` with newline. Of an interval whose line would be too long, the lightest blocks are counted as the heaviest of
// them; `folded` says how many.
std::string vector_line(std::span<const Entry> entries, size_t& folded);

}  // namespace simrun::simpoint

#include "simpoint/write_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/hdf5_module.h"
#include "base/user_error.h"
#include "simpoint/write_bytes.h"

namespace simrun::simpoint {

namespace {

// Entries on their way to the end of a line, some thousand letters at a time. Counts are whole numbers below 2^53
// nearly always; then without a point. By to_chars: fmt::format was a tenth of a profile of cc1plus.
class EntryText {
 public:
  static constexpr size_t kLongest = 40;
  explicit EntryText(std::string& line) : line_(line) {}
  void put(const Entry& entry) {
    if (std::end(text_) - at_ < static_cast<ptrdiff_t>(kLongest)) flush();
    *at_++ = ':';
    at_ = std::to_chars(at_, std::end(text_), entry.block).ptr;
    *at_++ = ':';
    at_ = is_whole(entry.count) ? std::to_chars(at_, std::end(text_), static_cast<int64_t>(entry.count)).ptr
                                : std::to_chars(at_, std::end(text_), entry.count).ptr;
    *at_++ = ' ';
  }
  void flush() {
    line_.append(text_, at_);
    at_ = text_;
  }

 private:
  static bool is_whole(double count) {
    return std::abs(count) < 0x1p53 && static_cast<double>(static_cast<int64_t>(count)) == count;
  }
  std::string& line_;
  char text_[4096];
  char* at_ = text_;
};

void append_entries(std::string& line, std::span<const Entry> entries) {
  EntryText text(line);
  for (const Entry& entry : entries) text.put(entry);
  text.flush();
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string place_text(const CodePlace& place) {
  return fmt::format("pc {:#x} offset {:#x} module {}", place.pc, place.offset, place.module);
}

std::string marker_text(const Marker& marker) {
  const std::string process = marker.process.empty() ? "" : fmt::format("process {} ", marker.process);
  const std::string thread =
      marker.thread.empty() ? "" : fmt::format("thread {} thread-count {} ", marker.thread, marker.thread_count);
  return fmt::format("count {} {}{}{}", marker.count, process, thread, place_text(marker.place));
}

class TextWriter final : public ProfileWriter {
 public:
  explicit TextWriter(const std::string& path) : to_(ByteWriter::open(path)) {
    to_->write("# simrun basic-block vectors, version 1\n");
  }

  void add(const Interval& interval, std::span<const Entry> entries) override {
    size_t folded = 0;
    const std::string line = vector_line(entries, folded);
    std::string comment = fmt::format("# interval {} start {} length {} {}\n", intervals_, interval.start,
                                      interval.length, marker_text(interval.begin));
    if (interval.executed_before != 0) comment += fmt::format("# executed-before {}\n", interval.executed_before);
    if (interval.left_out != 0) comment += fmt::format("# interval-left-out {}\n", interval.left_out);
    if (interval.far != FarReferences()) comment += fmt::format("# far {}\n", fmt::join(interval.far, " "));
    if (folded != 0)
      comment +=
          fmt::format("# interval {}: {} of its lightest blocks are counted as one, the line would be too long\n",
                      intervals_, folded);
    ++intervals_;
    to_->write(comment);
    to_->write(line);
  }

  void finish(const Profile& profile) override {
    uint64_t id = 0;
    for (const Block& block : profile.blocks)
      to_->write(fmt::format("# block {} thread {} {}\n", ++id, block.thread, place_text(block.place)));
    for (const ProfiledModule& module : profile.modules) to_->write(fmt::format("# build-id {} module {}\n", module.build_id, one_line(module.path)));
    if (!profile.ended_by.empty()) to_->write(fmt::format("# ended-by {}\n", one_line(profile.ended_by)));
    to_->write(
        fmt::format("# kind {}\n# interval-length {}\n# left-out {}\n# threads {}\n# command {}\n"
                    "# instructions {}\n",
                    to_word(profile.kind), profile.interval_length, profile.left_out, profile.threads, one_line(profile.command),
                    profile.instructions));
    to_->finish();
  }

 private:
  std::unique_ptr<ByteWriter> to_;
  uint64_t intervals_ = 0;
};

}  // namespace

std::string vector_line(std::span<const Entry> entries, size_t& folded) {
  CHECK(!entries.empty());
  folded = 0;
  std::string line = "T";
  append_entries(line, entries);
  line.back() = '\n';
  if (line.size() <= kLongestLine) return line;

  std::vector<Entry> sorted(entries.begin(), entries.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.count > b.count; });
  size_t kept = 0;
  line.clear();
  for (; kept < sorted.size(); ++kept) {
    append_entries(line, {&sorted[kept], 1});
    if (line.size() > kLongestLine - 2 * EntryText::kLongest) break;
  }
  for (size_t i = kept + 1; i < sorted.size(); ++i) sorted[kept].count += sorted[i].count;
  folded = sorted.size() - kept;
  sorted.resize(kept + 1);
  std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.block < b.block; });
  line = "T";
  append_entries(line, sorted);
  line.back() = '\n';
  return line;
}

std::unique_ptr<ProfileWriter> ProfileWriter::open(const std::string& path) {
  if (path.ends_with(".h5") || path.ends_with(".hdf5"))
    return hdf5_function<std::unique_ptr<ProfileWriter>(const std::string&)>("simrun_make_hdf5_writer")(path);
  for (const char* ending : {".csv", ".json"})
    if (path.ends_with(ending))
      throw UserError(fmt::format("{}: vectors are written as SimPoint's text (.bb, .bb.gz, .bb.zst) or HDF5 (.h5), not as {}",
                                  path, ending),
                      2);
  return std::make_unique<TextWriter>(path);
}

}  // namespace simrun::simpoint

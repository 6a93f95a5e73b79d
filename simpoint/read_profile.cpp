#include "simpoint/read_profile.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <string_view>

#include "base/hdf5_module.h"
#include "base/user_error.h"
#include "simpoint/read_lines.h"
#include "simpoint/write_profile.h"

namespace simrun::simpoint {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// By its first bytes (HDF5 File Format Specification, II.A); false when it cannot be read.
bool is_hdf5(const std::string& path) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  char begin[kSignature.size()] = {};
  std::ifstream file(path == "-" ? "" : path, std::ios::binary);
  return file.read(begin, sizeof begin) && std::string_view(begin, sizeof begin) == kSignature;
}

// The words of one comment line that simrun wrote: `name value name value ...`, the last value to the end of the line.
class Comment {
 public:
  Comment(std::string_view text, const LineReader& reader) : left_(text), reader_(reader) {}

  std::string word() {
    while (!left_.empty() && is_space(left_.front())) left_.remove_prefix(1);
    size_t length = 0;
    while (length < left_.size() && !is_space(left_[length])) ++length;
    const std::string found(left_.substr(0, length));
    left_.remove_prefix(length);
    return found;
  }
  uint64_t number(const char* name) {
    if (name != nullptr && word() != name) bad(name);
    return number();
  }
  uint64_t number() {
    const std::string text = word();
    const bool hex = text.starts_with("0x");
    uint64_t value = 0;
    const char* const from = text.data() + (hex ? 2 : 0);
    const auto [end, error] = std::from_chars(from, text.data() + text.size(), value, hex ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size() || end == from) bad("a number");
    return value;
  }
  std::string rest() const { return std::string(left_.empty() ? left_ : left_.substr(1)); }
  // Whether that comes next; else nothing is taken.
  bool optional_name(const char* name) {
    const std::string_view before = left_;
    if (word() == name) return true;
    left_ = before;
    return false;
  }
  // The word behind `name`, if that comes next.
  std::string optional(const char* name) { return optional_name(name) ? word() : ""; }
  CodePlace place() {
    CodePlace p;
    p.pc = number("pc");
    p.offset = number("offset");
    if (word() != "module") bad("module");
    p.module = rest();
    return p;
  }

 private:
  [[noreturn]] void bad(const char* wanted) const {
    reader_.fail(fmt::format("a comment of simrun's without {}: was the file edited?", wanted));
  }
  std::string_view left_;
  const LineReader& reader_;
};

class TextReader {
 public:
  TextReader(const std::string& path, const OnVector& on_vector) : lines_(path), on_vector_(on_vector) {}

  ReadProfile read() {
    std::string line;
    while (lines_.next(line)) {
      if (ours_ && !lines_.was_terminated()) break;   // we end our lines: who knows what is missing of it
      if (line.starts_with('T'))
        take_vector(line);
      else if (line.starts_with('#'))
        take_comment(line);
      else if (!passed_over_ && holds_entry(line))
        passed_over_ = true, warn("`:id:count` in a line that does not begin with T: such lines are passed over, as by SimPoint");
    }
    if (result_.vectors == 0) throw UserError(lines_.path() + ": no line starts with T: no frequency vector in it");
    if (ours_ && !complete_) take_what_is_left();
    if (!result_.profile.intervals.empty() && result_.profile.intervals.size() != result_.vectors)
      throw UserError(fmt::format("{}: {} vectors, but comments on {} intervals: was the file edited?", lines_.path(),
                                  result_.vectors, result_.profile.intervals.size()));
    return std::move(result_);
  }

 private:
  // Of a file of ours whose end is missing: the vectors that are whole.
  void take_what_is_left() {
    std::vector<Interval>& intervals = result_.profile.intervals;
    if (intervals.size() == result_.vectors + 1) intervals.pop_back();
    result_.warnings.push_back(fmt::format("{}: cut off behind {} vectors (simrun ends a profile with comments on the run): those are used, what came then is not known",
                                           lines_.path(), result_.vectors));
  }

  void warn(const std::string& what) {
    result_.warnings.push_back(fmt::format("{}:{}: {}", lines_.path(), lines_.line_number(), what));
  }

  // `:digits:digits` somewhere: a vector behind spaces or a byte-order mark, say.
  static bool holds_entry(std::string_view line) {
    constexpr std::string_view kDigits = "0123456789";
    for (size_t at = line.find(':'); at != line.npos; at = line.find(':', at + 1)) {
      const size_t behind_id = line.find_first_not_of(kDigits, at + 1);
      if (behind_id == line.npos) return false;
      if (behind_id != at + 1 && line[behind_id] == ':' && behind_id + 1 < line.size() &&
          kDigits.find(line[behind_id + 1]) != kDigits.npos)
        return true;
    }
    return false;
  }

  void take_vector(const std::string& line) {
    if (empty_line_ != 0)
      lines_.fail(fmt::format("a vector behind the empty one of line {}: SimPoint 3.2 would stop there", empty_line_));
    entries_.clear();
    parse(line);
    if (entries_.empty()) {
      empty_line_ = lines_.line_number();
      return warn("an empty vector at the end is left out (SimPoint 3.2 stops there, too)");
    }
    if (line.size() > kLongestLine) warn("a line above 1 MiB: SimPoint 3.2 would break here");
    if (!lines_.was_terminated()) warn("the last line has no newline: SimPoint 3.2 would drop it");
    try {
      on_vector_(entries_);
    } catch (const UserError& error) {
      lines_.fail(error.what());
    }
    ++result_.vectors;
  }

  void parse(const std::string& line) {
    const char* at = line.data() + 1;
    const char* const end = line.data() + line.size();
    const auto bad = [&](const char* where, const std::string& what) {
      lines_.fail(fmt::format("column {}: {}", where - line.data() + 1, what));
    };
    for (;;) {
      while (at != end && is_space(*at)) ++at;
      if (at == end) return;
      if (*at != ':') bad(at, "expected `:id:count`");
      Entry entry;
      auto [behind_id, id_error] = std::from_chars(at + 1, end, entry.block);
      if (id_error != std::errc() || entry.block == 0) bad(at + 1, "expected the id of a block, from 1 to 4294967295");
      if (behind_id == end || *behind_id != ':') bad(behind_id, "expected `:` and a count");
      const char* const count = behind_id + 1;
      auto [behind_count, count_error] = std::from_chars(count, end, entry.count);
      if (count_error != std::errc()) bad(count, "expected a count");
      if (!(entry.count >= 0 && entry.count < 1e300))
        bad(count, fmt::format("the count {} makes no sense", entry.count));
      if (behind_count != end && *behind_count != ':' && !is_space(*behind_count))
        bad(behind_count, "expected a space or the end of the line");
      entries_.push_back(entry);
      at = behind_count;
    }
  }

  void take_left_out(Comment& words, Interval& interval) {
    interval.left_out = words.number();
    if (interval.left_out > interval.length) lines_.fail(fmt::format("{} instructions are left out of {}", interval.left_out, interval.length));
  }

  void take_comment(const std::string& line) {
    if (line.starts_with("# simrun basic-block vectors")) {
      if (line != "# simrun basic-block vectors, version 1")
        lines_.fail("this version of the comments is not known: a newer simrun wrote it");
      ours_ = true;
    }
    if (!ours_) return;
    Profile& p = result_.profile;
    Comment words(std::string_view(line).substr(1), lines_);
    const std::string name = words.word();
    if (name == "interval") return take_interval(words);
    if (name == "block") return take_block(words);
    if (name == "build-id") return take_module(words);
    if (name == "executed-before" && !p.intervals.empty()) p.intervals.back().executed_before = words.number();
    if (name == "interval-left-out" && !p.intervals.empty()) take_left_out(words, p.intervals.back());
    if (name == "far" && !p.intervals.empty())
      for (uint64_t& references : p.intervals.back().far) references = words.number();
    if (name == "command") p.command = words.rest();
    if (name == "interval-length") p.interval_length = words.number();
    if (name == "left-out") p.left_out = words.number();
    if (name == "threads") p.threads = static_cast<uint32_t>(words.number());
    if (name == "ended-by") p.ended_by = words.rest();
    if (name == "instructions") p.instructions = words.number(), complete_ = true;   // the last
    if (name == "kind" && !from_word(words.word(), p.kind)) lines_.fail("an unknown kind of intervals");
  }

  void take_interval(Comment& words) {
    const std::string index = words.word();
    if (index.ends_with(':')) return;  // a remark
    if (index != std::to_string(result_.profile.intervals.size()))
      lines_.fail(fmt::format("interval {} where {} was expected", index, result_.profile.intervals.size()));
    Interval interval;
    interval.start = words.number("start");
    interval.length = words.number("length");
    interval.begin.count = words.number("count");
    interval.begin.process = words.optional("process");
    interval.begin.thread = words.optional("thread");
    if (!interval.begin.thread.empty()) interval.begin.thread_count = words.number("thread-count");
    interval.begin.place = words.place();
    result_.profile.intervals.push_back(std::move(interval));
  }

  void take_module(Comment& words) {
    ProfiledModule module{"", words.word()};
    if (words.optional_name("module")) module.path = words.rest();
    if (module.path.empty()) lines_.fail("a build id without a module: was the file edited?");
    result_.profile.modules.push_back(std::move(module));
  }

  void take_block(Comment& words) {
    if (words.number() != result_.profile.blocks.size() + 1) lines_.fail("blocks out of order");
    Block block;
    block.thread = static_cast<uint32_t>(words.number("thread"));
    block.place = words.place();
    result_.profile.blocks.push_back(std::move(block));
  }

  LineReader lines_;
  const OnVector& on_vector_;
  ReadProfile result_;
  std::vector<Entry> entries_;
  uint64_t empty_line_ = 0;
  bool ours_ = false;
  bool complete_ = false;    // if ours: its end is there
  bool passed_over_ = false;  // what may have been a vector: said once
};

}  // namespace

ReadProfile read_profile(const std::string& path, const OnVector& on_vector) {
  using ReadHdf5 = ReadProfile(const std::string&, const OnVector&);
  ReadProfile read = is_hdf5(path) ? hdf5_function<ReadHdf5>("simrun_read_hdf5_profile")(path, on_vector) : TextReader(path, on_vector).read();
  if (!read.profile.ended_by.empty())
    read.warnings.push_back(fmt::format("{}: {} ended the run that was profiled: what the program would have done then is in no vector", path,
                                        read.profile.ended_by));
  return read;
}

}  // namespace simrun::simpoint

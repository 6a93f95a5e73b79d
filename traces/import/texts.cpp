// DineroIV's din and Valgrind lackey's --trace-mem: lines of references, each instruction's behind its fetch.
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "traces/export/compressed_file.h"
#include "traces/import/formats.h"
#include "traces/import/instruction_importer.h"

namespace simrun::traces {

namespace {

constexpr uint8_t kAssumedLength = 4;
constexpr uint32_t kDinBytes = 4;       // what din assumes
constexpr size_t kMostReferences = 4096;
constexpr uint64_t kLongestInstruction = 15;

class LineReader {
 public:
  LineReader(CompressedInput& in, Writer& writer) : in_(in), to_(writer) { to_.add_only_thread(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw TraceError(in_.path(), start_, fmt::format("line {}: {}", number_, what));
  }
  bool next(std::string* line) {
    start_ = in_.offset();
    ++number_;
    return in_.line(line);
  }
  uint64_t parse(std::string_view text, int base, const char* what) const {
    uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value, base);
    if (error != std::errc{} || at != end) fail(fmt::format("\"{}\" is no {}", text.substr(0, 40), what));
    return value;
  }

  void instruction(uint64_t pc, uint8_t length) {
    put();
    pc_ = pc;
    length_ = length;
    open_ = true;
  }
  // Before the first fetch there is no instruction to put it to: one at address 0 then.
  void reference(OperandKind kind, uint64_t address, uint32_t bytes) {
    if (open_ && references_.size() == kMostReferences) {
      ++further_pieces_;
      instruction(pc_, length_);
    }
    if (!open_) instruction(pc_, length_);
    references_.push_back({kind, bytes, address});
  }
  ImportNotes finish() {
    put();
    to_.finish();
    if (further_pieces_ == 0) return {};
    return {fmt::format("instructions with more than {} references are {} more instructions at the same addresses", kMostReferences, further_pieces_)};
  }

 private:
  void put() {
    if (open_) to_.add(pc_, length_, 0, references_);
    references_.clear();
  }

  CompressedInput& in_;
  InstructionImporter to_;
  uint64_t start_ = 0, number_ = 0, further_pieces_ = 0;
  uint64_t pc_ = 0;
  uint8_t length_ = kAssumedLength;
  bool open_ = false;
  std::vector<InstructionImporter::Reference> references_;
};

std::string_view take_word(std::string_view* rest) {
  while (!rest->empty() && (rest->front() == ' ' || rest->front() == '\t' || rest->front() == '\r')) rest->remove_prefix(1);
  const size_t end = std::min(rest->find_first_of(" \t\r"), rest->size());
  const std::string_view word = rest->substr(0, end);
  rest->remove_prefix(end);
  return word;
}

uint32_t checked_size(const LineReader& lines, uint64_t bytes) {
  if (bytes == 0 || bytes > 1 << 20) lines.fail("a size that is 0 or more than 1 MiB");
  return static_cast<uint32_t>(bytes);
}

}  // namespace

// Both formats of DineroIV, as its dinfmt.c and xdinfmt.c read them: addresses and sizes are hexadecimal, the rest of a
// line is a comment. Traditional: a digit and the address, each access of 4 bytes. Extended: a letter, address, size.
ImportNotes import_din(const std::string& path, Writer& writer) {
  CompressedInput in(path);
  LineReader lines(in, writer);
  uint64_t passed_over = 0, cut = 0;
  const auto hexadecimal = [&](std::string_view text, const char* what) {
    return lines.parse(text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text, 16, what);
  };
  for (std::string line; lines.next(&line);) {
    std::string_view rest = line;
    const std::string_view label = take_word(&rest), address = take_word(&rest), size = take_word(&rest);
    if (label.empty() || label[0] == '#') continue;
    if (label.size() != 1 || address.empty()) lines.fail("not LABEL ADDRESS");
    const uint64_t at = hexadecimal(address, "address");
    const bool has_size = !size.empty() && (label[0] < '0' || label[0] > '9');
    const uint64_t bytes = has_size ? hexadecimal(size, "size") : kDinBytes;
    const auto refer = [&](OperandKind kind) { lines.reference(kind, at, checked_size(lines, bytes)); };
    switch (label[0]) {
      case '0': case 'r': case 'R':
      case '3': case 'm': case 'M': refer(OperandKind::kLoad); break;
      case '1': case 'w': case 'W': refer(OperandKind::kStore); break;
      case '2': case 'i': case 'I':
        cut += checked_size(lines, bytes) > kLongestInstruction;
        lines.instruction(at, static_cast<uint8_t>(std::min(bytes, kLongestInstruction)));
        break;
      case '4': case 'c': case 'C': case '5': case 'v': case 'V': ++passed_over; break;
      default: lines.fail(fmt::format("unknown label \"{}\"", label));
    }
  }
  ImportNotes notes = lines.finish();
  if (passed_over != 0) notes.push_back(fmt::format("{} copy-backs and invalidations are left out", passed_over));
  if (cut != 0) notes.push_back(fmt::format("{} fetches are cut to {} bytes", cut, kLongestInstruction));
  return notes;
}

// "I  ADDRESS,SIZE", " L ADDRESS,SIZE", " S ...", " M ..."; lines of Valgrind itself ("==PID==") are passed over.
ImportNotes import_lackey(const std::string& path, Writer& writer) {
  CompressedInput in(path);
  LineReader lines(in, writer);
  for (std::string line; lines.next(&line);) {
    if (line.empty() || line.starts_with("==") || line.starts_with("--") || line.starts_with("**")) continue;
    std::string_view rest = line;
    const std::string_view label = take_word(&rest), place = take_word(&rest);
    const size_t comma = place.find(',');
    if (label.size() != 1 || comma == std::string_view::npos) lines.fail("not LABEL ADDRESS,SIZE");
    const uint64_t at = lines.parse(place.substr(0, comma), 16, "address");
    const uint32_t bytes = checked_size(lines, lines.parse(place.substr(comma + 1), 10, "size"));
    switch (label[0]) {
      case 'I':
        if (bytes > kLongestInstruction) lines.fail("an instruction of more than 15 bytes");
        lines.instruction(at, static_cast<uint8_t>(bytes));
        break;
      case 'L': lines.reference(OperandKind::kLoad, at, bytes); break;
      case 'S': lines.reference(OperandKind::kStore, at, bytes); break;
      case 'M': lines.reference(OperandKind::kReadModifyWrite, at, bytes); break;
      default: lines.fail(fmt::format("unknown label \"{}\"", label));
    }
  }
  return lines.finish();
}

namespace {

constexpr ImportFormat kImportFormats[] = {
    {"champsim", "ChampSim: 64-byte records", import_champsim},
    {"din", "DineroIV: label and address", import_din},
    {"drmemtrace", "DynamoRIO's drmemtrace: a folder, or the file of a thread", import_drmemtrace},
    {"lackey", "valgrind --tool=lackey --trace-mem=yes", import_lackey},
};

}  // namespace

std::span<const ImportFormat> import_formats() { return kImportFormats; }

}  // namespace simrun::traces

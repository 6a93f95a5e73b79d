// Our own two texts: CSV for scripts, and a line for each instruction.
#include <fmt/format.h>

#include <iterator>

#include "traces/export/formats.h"
#include "traces/export/words.h"

namespace simrun::traces {

namespace {

// number,thread,pc,kind,address,bytes: one row for each instruction (kind "fetch": its own address and length) and reference.
class CsvExporter final : public Exporter {
 public:
  explicit CsvExporter(CompressedOutput& out) : out_(out) { out_.write("number,thread,pc,kind,address,bytes\n"); }
  bool on_instruction(const InstructionRecord& i) override {
    row(i, "fetch", i.pc, i.length);
    return on_begun_string(i);
  }
  bool on_unfetched(const InstructionRecord& i) override { return on_begun_string(i); }
  bool on_begun_string(const InstructionRecord& i) override {
    for (const MemoryReference& r : i.references) row(i, word_of(r.kind), r.address, r.bytes);
    out_.write(rows_);
    rows_.clear();
    return true;
  }
  bool tells_prefetches() const override { return true; }

 private:
  void row(const InstructionRecord& i, std::string_view kind, uint64_t address, uint32_t bytes) {
    fmt::format_to(std::back_inserter(rows_), "{},{},{:#x},{},{:#x},{}\n", i.number, i.thread, i.pc, kind, address, bytes);
  }
  CompressedOutput& out_;
  std::string rows_;
};

// NUMBER THREAD PC BYTES [KIND ADDRESS BYTES]..., addresses and code bytes in hexadecimal without 0x; "-" for unknown code.
// Events: NUMBER THREAD ! EVENT PAYLOAD...
class TextExporter final : public Exporter {
 public:
  explicit TextExporter(CompressedOutput& out) : out_(out) {}
  bool on_instruction(const InstructionRecord& i) override {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{} {} {:x} ", i.number, i.thread, i.pc);
    if (i.code.empty()) line_ += '-';
    for (const uint8_t byte : i.code) fmt::format_to(std::back_inserter(line_), "{:02x}", byte);
    return references(i);
  }
  bool on_begun_string(const InstructionRecord& i) override {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{} {} ! begun {:x}", i.number, i.thread, i.pc);
    return references(i);
  }
  bool on_event(const EventRecord& e) override {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{} {} ! {}", e.number, e.thread, event_word(e.event));
    for (const uint64_t word : e.payload) fmt::format_to(std::back_inserter(line_), " {:x}", word);
    line_ += '\n';
    out_.write(line_);
    return true;
  }

 private:
  bool references(const InstructionRecord& i) {
    for (const MemoryReference& r : i.references)
      fmt::format_to(std::back_inserter(line_), " {} {:x} {}", word_of(r.kind), r.address, r.bytes);
    line_ += '\n';
    out_.write(line_);
    return true;
  }

  CompressedOutput& out_;
  std::string line_;
};

}  // namespace

std::unique_ptr<Exporter> make_csv_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<CsvExporter>(out);
}
std::unique_ptr<Exporter> make_text_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<TextExporter>(out);
}

}  // namespace simrun::traces

// Formats that list references: DineroIV's din, and the two of Ramulator 2.
#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

// What stands before a hexadecimal address; empty: the format has no such line.
struct Labels {
  std::string_view fetch, read, write;
};
constexpr Labels kDin{"2 ", "0 ", "1 "};
constexpr Labels kRamulatorLoadStore{"", "LD 0x", "ST 0x"};

// A line for each fetch, read and write. A read-modify-write is both.
class ListExporter final : public Exporter {
 public:
  ListExporter(CompressedOutput& out, const Labels& labels) : out_(out), labels_(labels) {}
  bool on_instruction(const InstructionRecord& i) override {
    if (!labels_.fetch.empty()) put(labels_.fetch, i.pc);
    return on_begun_string(i);
  }
  bool on_begun_string(const InstructionRecord& i) override {
    for (const MemoryReference& r : i.references) {
      if (reads(r.kind)) put(labels_.read, r.address);
      if (writes(r.kind)) put(labels_.write, r.address);
      left_out_ += !reads(r.kind) && !writes(r.kind);
    }
    out_.write(lines_);
    lines_.clear();
    return true;
  }

 private:
  void put(std::string_view label, uint64_t address) {
    fmt::format_to(std::back_inserter(lines_), "{}{:x}\n", label, address);
  }

  CompressedOutput& out_;
  const Labels labels_;
  std::string lines_;
};

// BUBBLES LOAD [STORE], decimal: instructions without references, then a load, then what is written. A store that follows
// no load brings its line in first, as a cache that allocates on writes does: it is load and store of one line.
class O3Exporter final : public Exporter {
 public:
  explicit O3Exporter(CompressedOutput& out) : out_(out) {}
  bool on_instruction(const InstructionRecord& i) override {
    if (!references(i)) {
      put();
      ++bubbles_;
    }
    return true;
  }
  bool on_begun_string(const InstructionRecord& i) override {
    references(i);
    return true;
  }
  void finish() override { put(); }

 private:
  // Whether there are any.
  bool references(const InstructionRecord& i) {
    bool any = false;
    for (const MemoryReference& r : i.references) {
      if (reads(r.kind)) load(r.address), any = true;
      if (writes(r.kind)) store(r.address), any = true;
      left_out_ += !reads(r.kind) && !writes(r.kind);
    }
    return any;
  }
  void load(uint64_t address) {
    put();
    pending_ = true;
    load_ = address;
  }
  void store(uint64_t address) {
    if (!pending_) load_ = address;
    out_.write(fmt::format("{} {} {}\n", bubbles_, load_, address));
    pending_ = false;
    bubbles_ = 0;
  }
  void put() {
    if (!pending_) return;
    out_.write(fmt::format("{} {}\n", bubbles_, load_));
    pending_ = false;
    bubbles_ = 0;
  }

  CompressedOutput& out_;
  uint64_t bubbles_ = 0, load_ = 0;
  bool pending_ = false;
};

}  // namespace

std::unique_ptr<Exporter> make_din_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<ListExporter>(out, kDin);
}
std::unique_ptr<Exporter> make_ramulator_load_store_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<ListExporter>(out, kRamulatorLoadStore);
}
std::unique_ptr<Exporter> make_ramulator_o3_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<O3Exporter>(out);
}

}  // namespace simrun::traces

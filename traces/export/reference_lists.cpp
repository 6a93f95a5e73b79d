// Formats that list references: DineroIV's din, and the two of Ramulator 2.
#include <fmt/format.h>

#include <iterator>

#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

// LABEL ADDRESS: 0 read, 1 write, 2 instruction fetch, hexadecimal without 0x. A read-modify-write is both.
class DinExporter final : public Exporter {
 public:
  explicit DinExporter(CompressedOutput& out) : out_(out) {}
  bool on_instruction(const InstructionRecord& i) override {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "2 {:x}\n", i.pc);
    for (const MemoryReference& r : i.references) {
      if (reads(r.kind)) fmt::format_to(std::back_inserter(line_), "0 {:x}\n", r.address);
      if (writes(r.kind)) fmt::format_to(std::back_inserter(line_), "1 {:x}\n", r.address);
      left_out_ += !reads(r.kind) && !writes(r.kind);
    }
    out_.write(line_);
    return true;
  }

 private:
  CompressedOutput& out_;
  std::string line_;
};

// LD ADDRESS or ST ADDRESS, hexadecimal with 0x.
class LoadStoreExporter final : public Exporter {
 public:
  explicit LoadStoreExporter(CompressedOutput& out) : out_(out) {}
  bool on_instruction(const InstructionRecord& i) override {
    line_.clear();
    for (const MemoryReference& r : i.references) {
      if (reads(r.kind)) fmt::format_to(std::back_inserter(line_), "LD {:#x}\n", r.address);
      if (writes(r.kind)) fmt::format_to(std::back_inserter(line_), "ST {:#x}\n", r.address);
      left_out_ += !reads(r.kind) && !writes(r.kind);
    }
    out_.write(line_);
    return true;
  }

 private:
  CompressedOutput& out_;
  std::string line_;
};

// BUBBLES LOAD [STORE], decimal: instructions without references, then a load, then what is written. A store that follows
// no load brings its line in first, as a cache that allocates on writes does: it is load and store of one line.
class O3Exporter final : public Exporter {
 public:
  explicit O3Exporter(CompressedOutput& out) : out_(out) {}
  bool on_instruction(const InstructionRecord& i) override {
    bool any = false;
    for (const MemoryReference& r : i.references) {
      if (reads(r.kind)) load(r.address), any = true;
      if (writes(r.kind)) store(r.address), any = true;
      left_out_ += !reads(r.kind) && !writes(r.kind);
    }
    if (!any) {
      put();
      ++bubbles_;
    }
    return true;
  }
  void finish() override { put(); }

 private:
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
  return std::make_unique<DinExporter>(out);
}
std::unique_ptr<Exporter> make_ramulator_load_store_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<LoadStoreExporter>(out);
}
std::unique_ptr<Exporter> make_ramulator_o3_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<O3Exporter>(out);
}

}  // namespace simrun::traces

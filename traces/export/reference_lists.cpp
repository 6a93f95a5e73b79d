// Formats that list references: DineroIV's din, the two of Ramulator 2, and DRAMSim3's.
#include <fmt/format.h>

#include <deque>
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
constexpr uint32_t kDinBytes = 4;  // of all that has no size there

// A line for each fetch, read and write. A read-modify-write is both.
class ListExporter final : public Exporter {
 public:
  ListExporter(CompressedOutput& out, const Labels& labels) : out_(out), labels_(labels) {}
  bool on_instruction(const InstructionRecord& i) override {
    if (!labels_.fetch.empty()) put(labels_.fetch, i.pc);
    return on_begun_string(i);
  }
  bool on_unfetched(const InstructionRecord& i) override { return on_begun_string(i); }
  uint32_t bytes_seen(uint32_t) const override { return kDinBytes; }
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
// no load brings its line in first, as a cache that allocates on writes does: it is load and store of one line. Behind caches it
// waits for the next load. Ramulator 2 reads bubbles as an int (src/frontend/impl/processor/simpleO3/trace.cpp): what is more is
// divided among further lines, which load the line of the last one again.
class O3Exporter final : public Exporter {
 public:
  O3Exporter(CompressedOutput& out, bool behind_caches) : out_(out), behind_caches_(behind_caches) {}
  bool on_instruction(const InstructionRecord& i) override {
    if (!references(i)) pass_instructions(1);
    return true;
  }
  void pass_instructions(uint64_t count) override {
    if (count == 0) return;
    put();
    bubbles_ += count;
  }
  bool on_begun_string(const InstructionRecord& i) override {
    references(i);
    return true;
  }
  void finish() override {
    put();
    left_out_ += waiting_.size();
    waiting_.clear();
  }

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
    if (!pending_ && behind_caches_) return waiting_.push_back(address);
    if (!pending_) load_ = address;
    write_line(fmt::format("{} {}", load_, address));
  }
  void put() {
    if (!pending_) return;
    if (!waiting_.empty()) {
      const uint64_t address = waiting_.front();
      waiting_.pop_front();
      return store(address);
    }
    write_line(fmt::format("{}", load_));
  }
  void write_line(const std::string& addresses) {
    constexpr uint64_t kMost = 0x7fff'ffff;
    for (; bubbles_ > kMost; bubbles_ -= kMost) out_.write(fmt::format("{} {}\n", kMost, written_));
    out_.write(fmt::format("{} {}\n", bubbles_, addresses));
    pending_ = false;
    bubbles_ = 0;
    written_ = load_;
  }

  CompressedOutput& out_;
  const bool behind_caches_;
  uint64_t bubbles_ = 0, load_ = 0, written_ = 0;
  bool pending_ = false;
  std::deque<uint64_t> waiting_;  // stores without a load
};

// ADDRESS READ|WRITE CYCLE. A trace has no time: instruction N is in cycle N.
class DramSim3Exporter final : public Exporter {
 public:
  explicit DramSim3Exporter(CompressedOutput& out) : out_(out) {}
  bool on_instruction(const InstructionRecord& i) override { return on_begun_string(i); }
  bool on_begun_string(const InstructionRecord& i) override {
    for (const MemoryReference& r : i.references) {
      if (reads(r.kind)) put(r.address, "READ", i.number);
      if (writes(r.kind)) put(r.address, "WRITE", i.number);
      left_out_ += !reads(r.kind) && !writes(r.kind);
    }
    return true;
  }

 private:
  void put(uint64_t address, std::string_view what, uint64_t cycle) { out_.write(fmt::format("{:#x} {} {}\n", address, what, cycle)); }

  CompressedOutput& out_;
};

}  // namespace

std::unique_ptr<Exporter> make_din_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<ListExporter>(out, kDin);
}
std::unique_ptr<Exporter> make_ramulator_load_store_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<ListExporter>(out, kRamulatorLoadStore);
}
std::unique_ptr<Exporter> make_ramulator_o3_exporter(CompressedOutput& out, const ExportOptions& options) {
  return std::make_unique<O3Exporter>(out, options.behind_caches);
}
std::unique_ptr<Exporter> make_dramsim3_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<DramSim3Exporter>(out);
}

}  // namespace simrun::traces

// gem5's packet traces (its src/proto/packet.proto): the magic "gem5", then messages, each with its size as a varint before it:
// a PacketHeader, then Packets. One instruction is one nanosecond here: a trace has no time of its own. A packet lies within a
// line of 64 bytes, as gem5's caches demand of what reaches them (assertions of its src/mem/cache/base.cc): references that
// cross one, or are longer, are as many packets as they touch lines.
#include <algorithm>

#include "traces/bytes.h"
#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kTicksPerSecond = 1'000'000'000'000, kTicksPerInstruction = 1000;
// MemCmd of gem5's src/mem/packet.hh.
constexpr uint64_t kReadRequest = 1, kWriteRequest = 4;

// protobuf: fields as (number << 3 | 0) and a varint, or (number << 3 | 2), length and bytes.
void number_field(ByteWriter& to, uint32_t field, uint64_t value) {
  to.varint(field << 3);
  to.varint(value);
}
void text_field(ByteWriter& to, uint32_t field, std::string_view value) {
  to.varint(field << 3 | 2);
  to.text(value);
}

class Gem5Exporter final : public Exporter {
 public:
  explicit Gem5Exporter(CompressedOutput& out) : out_(out) {
    out_.write("gem5");
    ByteWriter header;
    text_field(header, 1, "simrun");
    number_field(header, 2, 0);
    number_field(header, 3, kTicksPerSecond);
    message(header);
  }

  bool on_begun_string(const InstructionRecord& i) override { return on_instruction(i); }
  bool on_instruction(const InstructionRecord& i) override {
    for (const MemoryReference& r : i.references) {
      if (reads(r.kind)) packets(i, r, kReadRequest);
      if (writes(r.kind)) packets(i, r, kWriteRequest);
      left_out_ += !reads(r.kind) && !writes(r.kind);
    }
    return true;
  }

 private:
  void packets(const InstructionRecord& i, const MemoryReference& r, uint64_t command) {
    for (uint64_t done = 0; done < r.bytes;) {
      const uint64_t address = r.address + done, bytes = std::min(r.bytes - done, kLineBytes - address % kLineBytes);
      packet(i, address, bytes, command);
      done += bytes;
    }
  }
  void packet(const InstructionRecord& i, uint64_t address, uint64_t bytes, uint64_t command) {
    ByteWriter to;
    number_field(to, 1, i.number * kTicksPerInstruction);
    number_field(to, 2, command);
    number_field(to, 3, address);
    number_field(to, 4, bytes);
    number_field(to, 6, next_id_++);
    number_field(to, 7, i.pc);
    message(to);
  }
  void message(const ByteWriter& contents) {
    ByteWriter size;
    size.varint(contents.bytes().size());
    write(size.bytes());
    write(contents.bytes());
  }
  void write(const Bytes& bytes) { out_.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); }

  CompressedOutput& out_;
  uint64_t next_id_ = 0;
};

}  // namespace

std::unique_ptr<Exporter> make_gem5_exporter(CompressedOutput& out, const ExportOptions&) {
  return std::make_unique<Gem5Exporter>(out);
}

}  // namespace simrun::traces

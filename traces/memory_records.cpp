#include "traces/memory_records.h"

namespace simrun::traces {

namespace {

constexpr uint32_t kMostPayload = 64;  // of an event that changes memory

void write_files(ByteWriter& out, std::span<const MappedFile> files) {
  out.varint(files.size());
  for (const MappedFile& f : files) {
    out.varint(f.begin);
    out.varint(f.end - f.begin);
    out.varint(f.offset);
    out.varint(f.device);
    out.varint(f.number);
    out.byte(f.shared ? 1 : 0);
  }
}

MappedFile read_file(ByteReader& from) {
  MappedFile f;
  f.begin = from.varint();
  f.end = f.begin + from.varint();
  if (f.end < f.begin) throw FormatError("a mapped file beyond all addresses");
  f.offset = from.varint();
  f.device = from.varint();
  f.number = from.varint();
  f.shared = from.byte() != 0;
  return f;
}

uint32_t read_process(ByteReader& from) {
  return static_cast<uint32_t>(from.varint_up_to(kMaxProcesses - 1, "the number of a process"));
}

}  // namespace

Bytes write_memory(const FirstFiles& files, std::span<const MemoryChange> changes) {
  ByteWriter out;
  out.varint(files.size());
  for (const auto& [process, mapped] : files) {
    out.varint(process);
    write_files(out, mapped);
  }
  out.varint(changes.size());
  for (const MemoryChange& change : changes) {
    out.varint(change.process);
    out.varint(static_cast<uint32_t>(change.words[0]));
    out.varint(change.words.size() - 1);
    for (size_t k = 1; k < change.words.size(); ++k) out.varint(change.words[k]);
  }
  return out.take();
}

void read_memory(ByteReader& from, FirstFiles& files, std::vector<MemoryChange>& changes) {
  const uint64_t images = from.varint_up_to(kMaxProcesses, "number of images");
  for (uint64_t k = 0; k < images; ++k) {
    std::vector<MappedFile>& mapped = files[read_process(from)];
    const uint64_t count = from.varint();
    for (uint64_t i = 0; i < count; ++i) mapped.push_back(read_file(from));
  }
  const uint64_t count = from.varint();
  for (uint64_t k = 0; k < count; ++k) {
    MemoryChange change;
    change.process = read_process(from);
    const uint64_t event = from.varint_up_to(kFirstPath - 1, "an event");
    if (!changes_memory(static_cast<uint32_t>(event))) throw FormatError("an event that changes no memory");
    const uint64_t payload = from.varint_up_to(kMostPayload, "words of an event");
    change.words.push_back(event | payload << 32);
    for (uint64_t i = 0; i < payload; ++i) change.words.push_back(from.varint());
    changes.push_back(std::move(change));
  }
}

}  // namespace simrun::traces

#include "traces/process_records.h"

namespace simrun::traces {

Bytes write_processes(uint32_t first, std::span<const ProcessRecord> processes) {
  ByteWriter out;
  out.varint(first);
  out.varint(processes.size());
  for (const ProcessRecord& p : processes) {
    out.byte(static_cast<uint8_t>(p.origin));
    out.varint(p.parent);
    out.varint(p.token);
    out.varint(p.pid);
    out.varint(p.first_instruction);
    out.text(p.command);
  }
  return out.take();
}

void read_processes(ByteReader& from, std::vector<ProcessRecord>& processes) {
  require(from.varint() == processes.size(), "processes that do not continue those before");
  const uint64_t count = from.varint_up_to(kMaxProcesses - processes.size(), "number of processes");
  for (uint64_t k = 0; k < count; ++k) {
    ProcessRecord p;
    const uint8_t origin = from.byte();
    require(origin < kProcessOrigins, "unknown origin of a process");
    p.origin = static_cast<ProcessRecord::Origin>(origin);
    p.parent = static_cast<uint32_t>(from.varint_up_to(kMaxProcesses, "the number of a process"));
    require(p.origin == ProcessRecord::Origin::kLaunched || p.parent < processes.size(), "a process before its parent");
    p.token = from.varint();
    p.pid = static_cast<uint32_t>(from.varint_up_to(~uint32_t{0}, "a process id"));
    p.first_instruction = from.varint();
    p.command = from.text();
    processes.push_back(std::move(p));
  }
}

Bytes write_modules(std::span<const Module> modules) {
  ByteWriter out;
  out.varint(modules.size());
  for (const Module& m : modules) {
    out.varint(m.process);
    out.text(m.path);
    out.text(m.build_id);
    out.varint(m.start);
    out.varint(m.end);
    out.varint(m.file_offset);
  }
  return out.take();
}

void read_modules(ByteReader& from, std::vector<Module>& modules) {
  const uint64_t count = from.varint();
  for (uint64_t k = 0; k < count; ++k) {
    Module m;
    m.process = static_cast<uint32_t>(from.varint_up_to(kMaxProcesses, "the number of a process"));
    m.path = from.text();
    m.build_id = from.text();
    m.start = from.varint();
    m.end = from.varint();
    m.file_offset = from.varint();
    require(m.start <= m.end, "a module that ends before it starts");
    modules.push_back(std::move(m));
  }
}

}  // namespace simrun::traces

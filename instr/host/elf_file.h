// The few fields of an ELF file that starting a program needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simrun::host {

enum class ElfKind {
  kNotElf,
  kX8664,          // 64-bit x86-64: the only one that can be run
  k32Bit,          // i386 and x32
  kOtherMachine,
};

struct ElfSegment {
  uint64_t address;       // relative to the load base
  uint64_t file_offset;
  uint64_t file_bytes;
  uint64_t memory_bytes;  // >= file_bytes; the rest is zero
  uint32_t flags;         // PF_R | PF_W | PF_X
};

struct ElfFile {
  ElfKind kind = ElfKind::kNotElf;
  uint16_t machine = 0;
  uint64_t entry = 0;
  uint64_t headers_offset = 0;  // of the program headers
  uint16_t headers = 0;
  std::string interpreter;      // PT_INTERP; empty: statically linked
  std::vector<ElfSegment> segments;  // PT_LOAD, ascending
};

// Reads the headers through `descriptor`. Fills only `kind` and `machine` unless kind is kX8664. Returns false when the file claims to be
// such a file but its program headers cannot be read.
bool read_elf(int descriptor, ElfFile& elf);

}  // namespace simrun::host

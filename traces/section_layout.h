// The bytes of the file's header, sections' headers and footer, as they stand on the disk (little-endian).
#pragma once

#include <bit>
#include <cstdint>

namespace simrun::traces {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kFileMagic = 0x0a1a'4543'4152'5453;    // "STRACE", 0x1a, newline
inline constexpr uint32_t kSectionMagic = 0x4e434553;           // "SECN"
inline constexpr uint64_t kFooterMagic = 0x0a1a'444e'4552'5453;  // "STREND", 0x1a, newline

struct FileHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;  // 0
};
static_assert(sizeof(FileHeader) == 16);

struct SectionHeader {
  uint32_t magic;
  uint32_t type;
  uint64_t stored_bytes;
  uint64_t raw_bytes;
  uint64_t first_instruction;
  uint64_t instructions;
  uint64_t checksum;  // XXH3-64 of the payload as stored, seeded with the XXH3-64 of the 40 bytes before this field
};
static_assert(sizeof(SectionHeader) == 48);

struct Footer {
  uint64_t index_offset;  // of the header of the index section
  uint64_t file_bytes;    // the whole file, this included
  uint64_t checksum;      // XXH3-64 of the 16 bytes before
  uint64_t magic;
};
static_assert(sizeof(Footer) == 32);

}  // namespace simrun::traces

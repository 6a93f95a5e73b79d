// The file as a sequence of sections: header, sections, footer. What is in them is not known here. docs/trace-format.md,
// "File", has the layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/bytes.h"
#include "traces/trace_error.h"

namespace simrun::traces {

// docs/trace-format.md, "Versions", has what was different. The older ones are still read.
inline constexpr uint32_t kFormatVersion = 4, kOldestFormatVersion = 1;

enum class SectionType : uint32_t {
  kInformation = 1,  // JSON: what was recorded, where and how
  kDescriptors = 2,
  kModules = 3,
  kChunk3 = 4,  // as files up to version 3 have them
  kSummary = 5,  // JSON: how it ended, statistics
  kIndex = 6,
  kProcesses = 7,
  kMemory = 8,
  kChunk = 9,
};

constexpr bool is_chunk(SectionType type) { return type == SectionType::kChunk || type == SectionType::kChunk3; }

// Bytes before compression that a section may have: so a damaged one cannot ask for all memory.
inline constexpr uint64_t kMaxRawBytes = uint64_t{1} << 30;

struct Section {
  SectionType type = SectionType::kInformation;
  uint64_t offset = 0;        // in the file, of its header
  uint64_t stored_bytes = 0;  // of the payload as it stands in the file (zstd)
  uint64_t raw_bytes = 0;     // of the payload when decompressed
  uint64_t first_instruction = 0, instructions = 0;  // kChunk
};

// A section compressed and with its checksum, ready to be written anywhere.
struct SealedSection {
  Section section;
  Bytes bytes;  // header and payload
};
SealedSection seal_section(SectionType type, std::span<const uint8_t> payload, int level, uint64_t first_instruction = 0,
                           uint64_t instructions = 0);

// Writes under a temporary name (PATH.partial), which is readable at any time up to the last section, and renames when
// complete. Space for the last sections is kept in reserve, so that a full disk still leaves a complete file.
class SectionFileWriter {
 public:
  explicit SectionFileWriter(std::string path);  // throws UserError
  ~SectionFileWriter();  // not finished and without a chunk: the temporary file goes
  SectionFileWriter(const SectionFileWriter&) = delete;
  SectionFileWriter& operator=(const SectionFileWriter&) = delete;

  // `reserve`: bytes that must remain writable behind it. False: no room (or a failing disk); why() says so, and the file
  // ends before this section.
  bool append(const SealedSection& section, uint64_t reserve);
  const std::string& why() const { return why_; }
  // Takes back everything from this section on, to make room.
  void cut_back_to(uint64_t offset);
  uint64_t bytes() const { return end_; }
  const std::vector<Section>& sections() const { return sections_; }

  // Names the index, which must be the last section. False as append().
  bool append_footer();
  // Gives the file its final name, when the footer is written. Throws UserError.
  void finish();
  // The file stays under its temporary name.
  const std::string& temporary_name() const { return temporary_; }

 private:
  bool write_all(const void* data, size_t size, uint64_t offset);
  bool make_room(uint64_t end);
  bool close_copy() const;

  std::string path_, temporary_, why_;
  int descriptor_;
  uint64_t end_ = 0, room_ = 0;
  bool can_reserve_ = true, finished_ = false;
  std::vector<Section> sections_;
};

// Reads sections; throws TraceError with the offset.
class SectionFileReader {
 public:
  explicit SectionFileReader(std::string path);  // throws UserError when it cannot be opened
  ~SectionFileReader();
  SectionFileReader(const SectionFileReader&) = delete;
  SectionFileReader& operator=(const SectionFileReader&) = delete;

  // In the order of the file. Without a footer: those that are whole, and incomplete() says why there are no more.
  const std::vector<Section>& sections() const { return sections_; }
  const std::string& incomplete() const { return incomplete_; }
  // A completed file in which a header of a section is damaged: sections() ends before it.
  const std::optional<TraceError>& damage() const { return damage_; }
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return size_; }

  // The decompressed payload. Any thread.
  Bytes read(const Section& section) const;
  [[noreturn]] void fail(uint64_t offset, const std::string& cause) const { throw TraceError(path_, offset, cause); }

 private:
  void read_bytes(void* to, uint64_t size, uint64_t offset) const;
  Section read_header(uint64_t offset) const;
  bool read_footer(uint64_t* index_offset);
  void scan();

  std::string path_, incomplete_;
  std::optional<TraceError> damage_;
  int descriptor_;
  uint64_t size_ = 0;
  std::vector<Section> sections_;
};

}  // namespace simrun::traces

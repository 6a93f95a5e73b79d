// A trace opened for reading: what was recorded, and any of its chunks. Descriptions of code are read at once (they are
// small), chunks when asked for. Everything throws TraceError for a file that is not as it should be; what lies before the
// damage can be read.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/chunk_codec.h"
#include "traces/descriptor_table.h"
#include "traces/memory_records.h"
#include "traces/record.h"
#include "traces/section_file.h"

namespace simrun::traces {

// Where a thread's part of a chunk begins, from the index.
struct PartInfo {
  uint32_t thread, process, tid;
  uint64_t first_instruction, instructions;
};

struct ChunkInfo {
  Section section;
  std::vector<PartInfo> parts;  // empty when the file has no index (a recording that was not completed)
};

class Reader {
 public:
  explicit Reader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  uint64_t file_bytes() const { return file_.bytes(); }
  const std::vector<Section>& sections() const { return file_.sections(); }
  // Empty: the recording was completed. Else why there is no more; what is there can be read.
  const std::string& incomplete() const { return incomplete_; }
  // Damage outside chunks (that in a chunk is thrown when it is read). chunks() ends before it, so whoever has come to
  // the end of them asks here whether that is the end.
  const std::optional<TraceError>& damage() const { return damage_; }
  void require_undamaged() const {
    if (damage_) throw *damage_;
  }

  const nlohmann::json& information() const { return information_; }
  const nlohmann::json& summary() const { return summary_; }  // null when not completed
  const std::vector<ChunkInfo>& chunks() const { return chunks_; }
  uint64_t instructions() const;  // of all chunks

  // Decodes a chunk. Any thread. `used`: one that is not needed any more, whose memory is used again: else the system
  // clears tens of megabytes for each (gzip: 9 % of a simulation's samples).
  Chunk read_chunk(size_t index, Chunk used = {}) const;
  // The chunk that holds this instruction (counted over all threads in recorded order), or chunks().size().
  size_t chunk_of(uint64_t instruction) const;

  // Processes are numbered from 0 without gaps.
  uint32_t processes() const { return static_cast<uint32_t>(tables_.size()); }
  // What is known of each; one that says nothing for a file of version 1.
  const ProcessRecord& process_record(uint32_t number) const { return records_[number]; }
  const DescriptorTable& process(uint32_t number) const { return *tables_[number]; }
  const std::vector<Module>& modules() const { return modules_; }
  // What an image had mapped when it started; nothing for a copy of its parent, or when the file does not say.
  std::span<const MappedFile> first_files(uint32_t process) const;
  // What changed in the memory of processes before the first item of this chunk, from the start of the program on.
  std::span<const MemoryChange> memory_before(size_t chunk) const {
    return std::span(memory_changes_).first(chunk < memory_before_.size() ? memory_before_[chunk] : 0);
  }
  // The module that holds `address`, or nullptr; of several the one that was mapped last.
  const Module* module_of(uint32_t process, uint64_t address) const;

 private:
  void read_section(const Section& section);
  void read_descriptors(ByteReader& from);
  void read_index(ByteReader& from);
  void check_order();

  SectionFileReader file_;
  std::string incomplete_;
  std::optional<TraceError> damage_;
  nlohmann::json information_, summary_;
  // Of processes without descriptions: a file that claims thousands costs no memory.
  const std::shared_ptr<DescriptorTable> no_code_ = std::make_shared<DescriptorTable>();
  std::vector<std::shared_ptr<DescriptorTable>> tables_;
  std::vector<ProcessRecord> records_;
  std::vector<PathShapes> shapes_;  // by process
  std::vector<Module> modules_;
  FirstFiles first_files_;
  std::vector<MemoryChange> memory_changes_;
  std::vector<size_t> memory_before_;  // of each chunk: how many of them
  std::vector<ChunkInfo> chunks_;
};

}  // namespace simrun::traces

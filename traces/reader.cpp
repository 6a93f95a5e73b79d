#include "traces/reader.h"

#include <algorithm>

#include "traces/process_records.h"

namespace simrun::traces {

namespace {

nlohmann::json parse_json(const Bytes& text) {
  try {
    nlohmann::json value = nlohmann::json::parse(text);
    require(value.is_object(), "no JSON object");
    return value;
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(error.what());
  }
}

}  // namespace

Reader::Reader(const std::string& path) : file_(path) {
  damage_ = file_.damage();
  try {
    for (const Section& section : file_.sections()) read_section(section);
  } catch (const TraceError& error) {
    if (information_.is_null()) throw;
    damage_ = error;
  }
  for (const auto& table : tables_) shapes_.push_back(table->shapes());
  records_.resize(tables_.size());  // version 1 does not have them
  if (information_.is_null()) require_undamaged();
  if (information_.is_null()) file_.fail(16, "the first section does not say what was recorded");
  incomplete_ = file_.incomplete();
  if (const auto stopped = summary_.is_object() ? summary_.find("stopped") : summary_.end();
      incomplete_.empty() && summary_.is_object() && stopped != summary_.end() && stopped->is_string())
    incomplete_ = "the recording ended early: " + stopped->get<std::string>();
  check_order();
}

void Reader::read_section(const Section& section) {
  if (is_chunk(section.type)) {
    chunks_.push_back({section, {}});
    memory_before_.push_back(memory_changes_.size());
    return;
  }
  const bool known = section.type >= SectionType::kInformation && section.type <= SectionType::kChunk;
  if (!known) return;  // of a later minor version: nothing that we need
  const Bytes bytes = file_.read(section);
  ByteReader from(bytes);
  try {
    switch (section.type) {
      case SectionType::kInformation:
        information_ = parse_json(bytes);
        return;
      case SectionType::kSummary:
        summary_ = parse_json(bytes);
        return;
      case SectionType::kDescriptors:
        read_descriptors(from);
        break;
      case SectionType::kModules:
        read_modules(from, modules_);
        break;
      case SectionType::kProcesses:
        read_processes(from, records_);
        tables_.resize(records_.size(), no_code_);
        break;
      case SectionType::kMemory:
        read_memory(from, first_files_, memory_changes_);
        break;
      case SectionType::kIndex:
        read_index(from);
        break;
      case SectionType::kChunk:
      case SectionType::kChunk3:
        break;
    }
    require(from.empty(), "bytes behind the end of a section's contents");
  } catch (const FormatError& error) {
    file_.fail(section.offset, error.what());
  }
}

void Reader::read_descriptors(ByteReader& from) {
  const uint64_t process = from.varint_up_to(tables_.size(), "the number of a process");
  require(process < kMaxProcesses, "too many processes");
  if (process == tables_.size()) tables_.push_back(no_code_);
  if (tables_[process] == no_code_) tables_[process] = std::make_shared<DescriptorTable>();
  tables_[process]->read(from);
}

void Reader::read_index(ByteReader& from) {
  require(from.varint() == chunks_.size(), "the index does not name all chunks");
  uint64_t offset = 0;
  for (ChunkInfo& chunk : chunks_) {
    offset += from.varint();
    require(offset == chunk.section.offset, "the index names a chunk that is not there");
    const uint64_t parts = from.varint_up_to(kMaxThreadsInTrace, "number of threads");
    for (uint64_t k = 0; k < parts; ++k) {
      PartInfo part{};
      part.thread = static_cast<uint32_t>(from.varint_up_to(kMaxThreadsInTrace, "the number of a thread"));
      part.process = static_cast<uint32_t>(from.varint_up_to(kMaxProcesses, "the number of a process"));
      part.tid = static_cast<uint32_t>(from.varint_up_to(~uint32_t{0}, "a thread id"));
      part.first_instruction = from.varint();
      part.instructions = from.varint();
      chunk.parts.push_back(part);
    }
  }
}

void Reader::check_order() {
  uint64_t expected = chunks_.empty() ? 0 : chunks_[0].section.first_instruction;
  for (size_t k = 0; k < chunks_.size(); ++k) {
    const Section& section = chunks_[k].section;
    if (section.first_instruction != expected || section.instructions > ~expected) {
      damage_.emplace(path(), section.offset, "a chunk does not continue the one before it");
      chunks_.resize(k);
      return;
    }
    expected += section.instructions;
  }
}

uint64_t Reader::instructions() const {
  if (chunks_.empty()) return 0;
  const Section& last = chunks_.back().section;
  return last.first_instruction + last.instructions - chunks_.front().section.first_instruction;
}

Chunk Reader::read_chunk(size_t index, Chunk used) const {
  const Section& section = chunks_[index].section;
  const Bytes bytes = file_.read(section);
  try {
    const ShapesOf shapes = [this](uint32_t process) {
      require(process < shapes_.size(), "a process without descriptions");
      return shapes_[process];
    };
    Chunk chunk = section.type == SectionType::kChunk ? decode_chunk(bytes, shapes, std::move(used))
                                                         : decode_chunk_3(bytes, shapes, std::move(used));
    require(chunk.instructions == section.instructions, "a chunk has other instructions than its header says");
    chunk.first_instruction = section.first_instruction;
    return chunk;
  } catch (const FormatError& error) {
    file_.fail(section.offset, error.what());
  }
}

size_t Reader::chunk_of(uint64_t instruction) const {
  const auto after = std::partition_point(chunks_.begin(), chunks_.end(), [&](const ChunkInfo& c) {
    return c.section.first_instruction + c.section.instructions <= instruction;
  });
  return static_cast<size_t>(after - chunks_.begin());
}

std::span<const MappedFile> Reader::first_files(uint32_t process) const {
  const auto found = first_files_.find(process);
  return found == first_files_.end() ? std::span<const MappedFile>() : found->second;
}

const Module* Reader::module_of(uint32_t process, uint64_t address) const {
  for (auto m = modules_.rbegin(); m != modules_.rend(); ++m)
    if (m->process == process && address >= m->start && address < m->end) return &*m;
  return nullptr;
}

}  // namespace simrun::traces

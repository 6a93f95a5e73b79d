#include "cli/trace_memory.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <vector>

namespace simrun::cli {

namespace {

constexpr uint64_t kEndOfAddresses = uint64_t{1} << 48;  // of a user

void require(bool holds, const char* what) {
  if (!holds) throw traces::FormatError(what);
}

void require_range(uint64_t begin, uint64_t bytes) {
  require(begin < kEndOfAddresses && bytes <= kEndOfAddresses - begin, "a mapping beyond the addresses of a program");
}

// A damaged file must not ask for what no program has. Words: as border::Event::kMappingChange.
void check_mapping(std::span<const uint64_t> words) {
  require(words.size() >= 12, "a change of mappings without what was mapped");
  const uint64_t call = words[1], result = words[2], *const a = words.data() + 3;
  if (call == SYS_mmap) require_range(result, a[1]);
  if (call == SYS_munmap || call == SYS_mremap) require_range(a[0], a[1]);
  if (call == SYS_mremap) require_range(result, a[2]);
  if (call == SYS_shmat) require_range(result, a[3]);
  if (call == SYS_shmdt) require_range(a[0], 0);
}

}  // namespace

TraceMemory::TraceMemory(const traces::Reader& trace, size_t chunk) : trace_(trace) {
  const uint64_t offset = chunk < trace.chunks().size() ? trace.chunks()[chunk].section.offset : 0;
  try {
    for (const traces::MemoryChange& c : trace.memory_before(chunk)) change(c.process, c.words);
  } catch (const traces::FormatError& error) {
    throw traces::TraceError(trace.path(), offset, error.what());
  }
}

void TraceMemory::change(uint32_t process, std::span<const uint64_t> event) {
  switch (static_cast<traces::Event>(static_cast<uint32_t>(event[0]))) {
    case traces::Event::kProcessStart:
      require(event.size() >= 2, "the start of a process without a word");
      return start(process, event[1] != 0);
    case traces::Event::kProcessEnd:
      if (names_.knows(process)) ended_.insert(process);
      return;
    default:
      check_mapping(event);
      names_.event(process, border::Event::kMappingChange, event.subspan(1));
  }
}

void TraceMemory::start(uint32_t process, bool is_copy) {
  require(process < trace_.processes() && !names_.knows(process) && !forgotten_.contains(process),
          "the start of a process that has started, or is not there");
  const uint32_t parent = trace_.process_record(process).parent;
  if (is_copy && names_.knows(parent) && !ended_.contains(parent)) {
    names_.add_copy(process, parent);
  } else {
    std::vector<border::MappedFile> files;
    if (!is_copy)
      for (const traces::MappedFile& f : trace_.first_files(process)) {
        require_range(f.begin, f.end - f.begin);
        files.push_back({f.begin, f.end, f.offset, f.device, f.number, f.shared});
      }
    names_.add_image(process, files);
  }
  any_ = true;
  for (const uint32_t p : met_) meet(p);
  met_.clear();
}

void TraceMemory::begin_chunk(const traces::Chunk& chunk) {
  if (chunk_ == chunk.first_instruction) return;  // the same once more, from where it was left
  chunk_ = chunk.first_instruction;
  for (const uint32_t process : ended_) {
    names_.forget(process);
    forgotten_.insert(process);
  }
  ended_.clear();
  for (const traces::ThreadPart& part : chunk.threads)
    require(!forgotten_.contains(part.process), "a thread of a process that has ended");
}

void TraceMemory::meet(uint32_t process) {
  if (!any_)
    met_.insert(process);
  else if (!names_.knows(process))
    names_.add_image(process, {});
}

}  // namespace simrun::cli

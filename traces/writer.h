// Writes a trace while the program runs. One thread calls; chunks are encoded and compressed by workers and written in
// order. When they cannot keep up, adding waits, and with it the program.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "traces/chunk_codec.h"
#include "traces/descriptor_table.h"
#include "traces/memory_records.h"
#include "traces/record.h"
#include "traces/section_file.h"

namespace simrun::traces {

struct WriterOptions {
  int level = 1;                      // of zstd
  uint32_t workers = 0;               // 0: as many as processors, at most 8
  uint64_t chunk_words = 4u << 20;    // at which a chunk is closed
  uint64_t ended_bytes = 32u << 20;   // the same, of descriptions of processes that have ended meanwhile
};

class Writer {
 public:
  // `information`: docs/trace-format.md, "Information". Throws UserError when `path` cannot be written.
  Writer(const std::string& path, const nlohmann::ordered_json& information, const WriterOptions& options = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // The next process; returns its number. Before everything that is of it.
  uint32_t add_process(const ProcessRecord& process);
  uint32_t processes() const { return static_cast<uint32_t>(processes_.size()); }
  // Descriptions must be added before words that use them.
  DescriptorTable& process(uint32_t process) { return *processes_[process].table; }
  // Nothing more is added that is of it: its table goes.
  void end_process(uint32_t process);
  void add_module(const Module& module);

  // What the image has mapped, before its kProcessStart.
  void add_first_files(uint32_t process, std::vector<MappedFile> files);

  // Threads are numbered by the caller, in order of creation; `fs` and `gs` as of now.
  void start_thread(uint32_t thread, uint32_t process, uint32_t tid, uint64_t fs, uint64_t gs);
  void set_tid(uint32_t thread, uint32_t tid);
  // Whole paths, back to back; `paths` and `instructions` are their sums.
  void add_paths(uint32_t thread, std::span<const uint64_t> words, uint64_t paths, uint64_t instructions);
  // One event with its first word. `instructions`: that it retired (kCut).
  void add_event(uint32_t thread, std::span<const uint64_t> words, uint64_t instructions = 0);

  // The same outside what is recorded: only what later words depend on (segment bases, memory) is taken from it.
  void note_event(uint32_t thread, std::span<const uint64_t> words);

  // Not empty: nothing more is written, and why (the disk is full, say, or there is no memory).
  std::string stopped() const;
  uint64_t instructions() const { return instructions_; }  // added so far
  uint64_t bytes() const;                                  // written so far
  uint64_t written_instructions() const;                   // the same; fewer than were added once it has stopped
  // Processes of which there are descriptions in memory, written or not; for tests.
  size_t processes_described() const { return described_.size(); }

  // Everything that was added, the summary, the index. `summary`: docs/trace-format.md, "Summary"; what the file holds is
  // added here. Throws UserError.
  void finish(nlohmann::ordered_json summary);

 private:
  struct ThreadState {
    uint32_t process = 0, tid = 0;
    uint64_t fs = 0, gs = 0, instructions = 0;
    int64_t part = -1;  // in the open chunk
    std::array<uint64_t, 3> core{};  // its last event kCore, as it is said again at the start of a part; 0: none
  };
  struct ProcessState {
    std::unique_ptr<DescriptorTable> table = std::make_unique<DescriptorTable>();  // null: ended
    uint32_t superblocks_written = 0, paths_written = kFirstPath;
    // Of one that has ended, until the open chunk is closed: what was not written of the table, what that chunk's words
    // are encoded with.
    Bytes rest;
    PathShapes shapes;
  };
  struct Task;
  struct ChunkEntry {
    Section section;
    std::vector<ThreadPart> parts;  // without words
  };

  ThreadPart& part_of(uint32_t thread);
  void note_memory(uint32_t thread, std::span<const uint64_t> words);
  void add_items(uint32_t thread, std::span<const uint64_t> words, uint64_t items, uint64_t instructions);
  void close_chunk();
  Bytes new_descriptors(uint32_t process);
  void seal_descriptors(Task& task);
  void submit(std::unique_ptr<Task> task);
  void work();
  void run(Task& task, std::optional<ChunkEncoder>& encoder) const;
  void commit_ready();
  void commit(Task& task);
  void stop_for(std::exception_ptr failure);
  bool append(const SealedSection& section);
  void append_json(SectionType type, const nlohmann::ordered_json& value);
  Bytes index() const;
  bool append_end(nlohmann::ordered_json summary);
  void stop_workers();

  WriterOptions options_;
  SectionFileWriter file_;
  std::vector<ProcessState> processes_;
  uint64_t ended_bytes_ = 0;         // ProcessState::rest and shapes
  std::vector<uint32_t> described_;  // those that live, or ended since the open chunk was begun; ascending
  std::vector<ThreadState> threads_;
  std::vector<ProcessRecord> new_processes_;
  std::vector<Module> new_modules_;
  FirstFiles new_files_;
  std::vector<MemoryChange> new_changes_;     // of memory, since the open chunk was begun
  std::vector<MemoryChange> changes_before_;  // before it, and in no section yet
  Chunk open_;
  uint64_t open_words_ = 0;
  uint64_t instructions_ = 0;

  // Guarded by mutex_: everything below, and file_ once workers run.
  mutable std::mutex mutex_;
  std::condition_variable has_work_, has_room_;
  std::deque<std::unique_ptr<Task>> waiting_;
  std::vector<std::unique_ptr<Task>> ready_;  // sequence i in [i % size]: as many as can be under way
  uint64_t submitted_ = 0, committed_ = 0;
  bool ending_ = false;
  std::string stopped_;
  std::vector<ChunkEntry> chunks_;
  uint64_t index_entries_ = 0;
  std::vector<std::vector<uint64_t>> free_words_;  // buffers to be used again
  std::vector<std::thread> workers_;
};

}  // namespace simrun::traces

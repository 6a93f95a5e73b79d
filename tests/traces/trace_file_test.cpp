#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/user_error.h"
#include "tests/traces/made_trace.h"
#include "traces/reader.h"

namespace simrun::traces {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<std::vector<uint64_t>> words_of(const Reader& trace, size_t chunks) {
  std::vector<std::vector<uint64_t>> all;
  for (size_t k = 0; k < chunks; ++k)
    for (const ThreadPart& part : trace.read_chunk(k).threads) {
      if (part.thread >= all.size()) all.resize(part.thread + 1);
      all[part.thread].insert(all[part.thread].end(), part.words.begin(), part.words.end());
    }
  return all;
}

TEST(TraceFile, HoldsWhatWasWritten) {
  const ScratchDirectory scratch;
  for (uint32_t workers : {1u, 3u}) {
    const auto written = write_made_trace(scratch.file("t"), 5, 3, 6, {.workers = workers});
    const Reader trace(scratch.file("t"));
    EXPECT_EQ(trace.incomplete(), "");
    EXPECT_GE(trace.chunks().size(), 6u);
    EXPECT_EQ(words_of(trace, trace.chunks().size()), written);
    EXPECT_EQ(trace.information()["command"][0], "made");
    EXPECT_EQ(trace.summary()["instructions"], trace.instructions());
    ASSERT_NE(trace.module_of(0, 0x400010), nullptr);
    EXPECT_EQ(trace.module_of(0, 0x400010)->build_id, "0123456789abcdef");
    EXPECT_EQ(trace.module_of(0, 0x500000), nullptr);
    EXPECT_FALSE(fs::exists(scratch.file("t.partial")));
  }
}

TEST(TraceFile, SaysWhereProcessesComeFrom) {
  const ScratchDirectory scratch;
  write_made_trace(scratch.file("t"), 5);
  const Reader trace(scratch.file("t"));
  ASSERT_EQ(trace.processes(), 3u);
  EXPECT_EQ(trace.process_record(1).origin, ProcessRecord::Origin::kForked);
  EXPECT_EQ(trace.process_record(1).token, 7u);
  EXPECT_EQ(trace.process_record(2).origin, ProcessRecord::Origin::kExecuted);
  EXPECT_EQ(trace.process_record(2).parent, 1u);
  EXPECT_EQ(trace.process_record(2).command, "made other");
  EXPECT_EQ(trace.process(1).superblocks(), 0u);
  EXPECT_EQ(trace.process(2).superblocks(), trace.process(0).superblocks());
  EXPECT_EQ(trace.module_of(1, 0x400010), nullptr);
  EXPECT_NE(trace.module_of(2, 0x400010), nullptr);
}

// Before several processes were recorded.
TEST(TraceFile, ReadsVersion1) {
  const Reader trace(TRACES_TESTS "/version_1.trace");
  EXPECT_EQ(trace.incomplete(), "");
  EXPECT_FALSE(trace.damage().has_value());
  ASSERT_EQ(trace.processes(), 1u);
  EXPECT_EQ(trace.process_record(0).command, "");
  uint64_t instructions = 0;
  for (size_t k = 0; k < trace.chunks().size(); ++k) instructions += trace.read_chunk(k).instructions;
  EXPECT_GT(instructions, 0u);
  EXPECT_EQ(instructions, trace.instructions());
}

// Before files said what memory processes share.
TEST(TraceFile, ReadsVersion2) {
  const Reader trace(TRACES_TESTS "/version_2.trace");
  EXPECT_EQ(trace.incomplete(), "");
  ASSERT_EQ(trace.processes(), 2u);
  EXPECT_EQ(trace.process_record(1).origin, ProcessRecord::Origin::kForked);
  EXPECT_EQ(trace.instructions(), 2430u);
  EXPECT_TRUE(trace.first_files(0).empty());
  EXPECT_TRUE(trace.memory_before(0).empty());
}

// Before words were predicted as now: the words are those that went in.
TEST(TraceFile, ReadsVersion3) {
  const ScratchDirectory scratch;
  const std::vector<std::vector<uint64_t>> expected = write_made_trace(scratch.file("t"), 7, 2, 1, {.workers = 2}, 200, false);
  const Reader trace(TRACES_TESTS "/version_3.trace");
  EXPECT_EQ(trace.incomplete(), "");
  EXPECT_EQ(trace.sections()[0].type, SectionType::kInformation);
  std::vector<std::vector<uint64_t>> words(2);
  for (size_t k = 0; k < trace.chunks().size(); ++k)
    for (const ThreadPart& part : trace.read_chunk(k).threads)
      words.at(part.thread).insert(words[part.thread].end(), part.words.begin(), part.words.end());
  EXPECT_EQ(words, expected);
}

// Each chunk has before it what happened to memory before its first item, recorded or not.
TEST(TraceFile, MemoryBeforeChunks) {
  const ScratchDirectory scratch;
  MadeTrace made(4, 6);
  const auto event = [](Event e, std::vector<uint64_t> payload) {
    payload.insert(payload.begin(), static_cast<uint64_t>(e) | uint64_t{payload.size()} << 32);
    return payload;
  };
  const std::vector<uint64_t> start = event(Event::kProcessStart, {0}), end = event(Event::kProcessEnd, {});
  const std::vector<uint64_t> first = event(Event::kMappingChange, std::vector<uint64_t>(11, 1));
  const std::vector<uint64_t> second = event(Event::kMappingChange, std::vector<uint64_t>(11, ~uint64_t{0}));
  const std::vector<MappedFile> files = {{0x1000, 0x3000, 0x5000, 7, 9, false}, {0x8000, 0x9000, 0, 7, 10, true}};
  {
    Writer writer(scratch.file("t"), {{"command", {"made"}}}, {.workers = 2, .chunk_words = 200});
    writer.add_process({});
    made.describe(writer.process(0));
    writer.start_thread(0, 0, 100, 0, 0);
    writer.add_first_files(0, files);
    writer.note_event(0, start);
    writer.note_event(0, first);
    const auto fill = [&] {
      uint64_t instructions = 0;
      const auto paths = made.paths(200, &instructions);
      writer.add_paths(0, paths, 200, instructions);
    };
    writer.add_event(0, second);
    fill();
    fill();
    writer.add_event(0, end);
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
  }
  const Reader trace(scratch.file("t"));
  EXPECT_TRUE(std::ranges::equal(trace.first_files(0), files));
  ASSERT_EQ(trace.chunks().size(), 3u);
  const auto changes = [&](size_t chunk) {
    const auto span = trace.memory_before(chunk);
    return std::vector<MemoryChange>(span.begin(), span.end());
  };
  EXPECT_EQ(changes(0), (std::vector<MemoryChange>{{0, start}, {0, first}}));
  EXPECT_EQ(changes(1), (std::vector<MemoryChange>{{0, start}, {0, first}, {0, second}}));
  EXPECT_EQ(changes(2), changes(1));
}

// Descriptions of a process that has ended go into the file with the chunk under way, as if it lived, and then out of
// memory.
TEST(TraceFile, ProcessesThatHaveEndedAreNotKept) {
  const ScratchDirectory scratch;
  const auto write = [&](const std::string& name, bool end) {
    MadeTrace made(5);
    Writer writer(scratch.file(name), {{"command", {"made"}}}, {.workers = 2, .chunk_words = 2000});
    for (uint32_t process = 0; process < 100; ++process) {
      EXPECT_EQ(writer.add_process({}), process);
      made.describe(writer.process(process));
      writer.start_thread(process, process, 100, 0, 0);
      uint64_t instructions = 0;
      const auto paths = made.paths(100, &instructions);
      writer.add_paths(process, paths, 100, instructions);
      if (!end) continue;
      writer.end_process(process);
      EXPECT_LE(writer.processes_described(), 20u);
    }
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
    std::ifstream file(scratch.file(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(write("ended", true), write("alive", false));
  EXPECT_EQ(Reader(scratch.file("ended")).processes(), 100u);
}

// Of many that do little a chunk would hold too many.
TEST(TraceFile, ProcessesThatHaveEndedFillAChunk) {
  const ScratchDirectory scratch;
  MadeTrace made(5);
  std::vector<std::vector<uint64_t>> expected, words(100);
  {
    Writer writer(scratch.file("t"), {{"command", {"made"}}}, {.workers = 2, .ended_bytes = 50'000});
    for (uint32_t process = 0; process < 100; ++process) {
      writer.add_process({});
      made.describe(writer.process(process));
      writer.start_thread(process, process, 100, 0, 0);
      uint64_t instructions = 0;
      expected.push_back(made.paths(3, &instructions));
      writer.add_paths(process, expected.back(), 3, instructions);
      writer.end_process(process);
      EXPECT_LE(writer.processes_described(), 30u);
    }
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
  }
  const Reader trace(scratch.file("t"));
  EXPECT_GT(trace.chunks().size(), 3u);
  for (size_t k = 0; k < trace.chunks().size(); ++k)
    for (const ThreadPart& part : trace.read_chunk(k).threads)
      words.at(part.thread).insert(words[part.thread].end(), part.words.begin(), part.words.end());
  EXPECT_EQ(words, expected);
}

TEST(TraceFile, SameBytesWithAnyNumberOfWorkers) {
  const ScratchDirectory scratch;
  write_made_trace(scratch.file("one"), 9, 2, 5, {.workers = 1});
  write_made_trace(scratch.file("four"), 9, 2, 5, {.workers = 4});
  const auto contents = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(contents(scratch.file("one")), contents(scratch.file("four")));
}

TEST(TraceFile, FindsInstructions) {
  const ScratchDirectory scratch;
  write_made_trace(scratch.file("t"), 11);
  const Reader trace(scratch.file("t"));
  for (uint64_t at = 0; at < trace.instructions(); at += 97) {
    const ChunkInfo& chunk = trace.chunks().at(trace.chunk_of(at));
    EXPECT_LE(chunk.section.first_instruction, at);
    EXPECT_GT(chunk.section.first_instruction + chunk.section.instructions, at);
  }
  EXPECT_EQ(trace.chunk_of(trace.instructions()), trace.chunks().size());
}

TEST(TraceFile, CutOffAnywhereKeepsWhatCameBefore) {
  const ScratchDirectory scratch;
  const auto written = write_made_trace(scratch.file("t"), 2);
  const std::vector<Section> sections = Reader(scratch.file("t")).sections();
  const uint64_t size = fs::file_size(scratch.file("t"));
  for (uint64_t keep = size - 1; keep > 0; keep -= std::min<uint64_t>(keep, 1 + size / 150)) {
    fs::copy_file(scratch.file("t"), scratch.file("cut"), fs::copy_options::overwrite_existing);
    fs::resize_file(scratch.file("cut"), keep);
    size_t whole_chunks = 0;
    for (const Section& s : sections)
      whole_chunks += s.type == SectionType::kChunk && s.offset + 48 + s.stored_bytes <= keep;
    try {
      const Reader trace(scratch.file("cut"));
      EXPECT_THAT(trace.incomplete(), HasSubstr("not completed")) << keep;
      EXPECT_EQ(trace.chunks().size(), whole_chunks);
      const auto words = words_of(trace, trace.chunks().size());
      for (size_t t = 0; t < words.size(); ++t)
        EXPECT_TRUE(std::equal(words[t].begin(), words[t].end(), written[t].begin()));
    } catch (const TraceError& error) {
      EXPECT_LT(keep, sections[1].offset) << error.what();  // not even the first section is whole
    }
  }
}

// A flipped bit anywhere: an error that names the file and an offset, or (in the reserved fields) nothing at all; never other
// words.
TEST(TraceFile, FlippedBitsAreFound) {
  const ScratchDirectory scratch;
  const auto written = write_made_trace(scratch.file("t"), 3, 2, 2);
  std::ifstream file(scratch.file("t"), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  std::mt19937_64 random(4);
  int errors = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    const uint64_t at = random() % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ 1 << random() % 8);
    std::ofstream(scratch.file("bad"), std::ios::binary) << bad;
    try {
      const Reader trace(scratch.file("bad"));
      const auto words = words_of(trace, trace.chunks().size());
      trace.require_undamaged();
      for (size_t t = 0; t < words.size(); ++t) {
        ASSERT_LE(words[t].size(), written[t].size());
        EXPECT_TRUE(std::equal(words[t].begin(), words[t].end(), written[t].begin())) << "flipped at " << at;
      }
    } catch (const TraceError& error) {
      EXPECT_THAT(error.what(), HasSubstr("bad: at offset ")) << error.what();
      ++errors;
    }
  }
  EXPECT_GT(errors, 350);
}

// Also when it is the header of a chunk that is damaged: what comes before can be read, then there is an error.
TEST(TraceFile, DamageAnywhereKeepsWhatCameBefore) {
  const ScratchDirectory scratch;
  const auto written = write_made_trace(scratch.file("t"), 3, 2, 6);
  const Reader whole(scratch.file("t"));
  const ChunkInfo& third = whole.chunks().at(2);
  for (const uint64_t field : {0, 4, 8, 16, 24, 32, 40, 48}) {
    fs::copy_file(scratch.file("t"), scratch.file("bad"), fs::copy_options::overwrite_existing);
    std::fstream file(scratch.file("bad"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(third.section.offset + field));
    file.write("?", 1).flush();
    const Reader trace(scratch.file("bad"));
    const auto words = words_of(trace, 2);
    for (size_t t = 0; t < words.size(); ++t)
      EXPECT_TRUE(std::equal(words[t].begin(), words[t].end(), written[t].begin()));
    EXPECT_THROW((words_of(trace, trace.chunks().size()), trace.require_undamaged()), TraceError) << field;
  }
}

TEST(TraceFile, SaysWhatIsNoTrace) {
  const ScratchDirectory scratch;
  std::ofstream(scratch.file("text")) << "this is a text, longer than a header\n";
  std::ofstream(scratch.file("short")) << "x";
  EXPECT_THROW(
      {
        try {
          Reader trace(scratch.file("text"));
        } catch (const TraceError& error) {
          EXPECT_THAT(error.what(), HasSubstr("not a trace of simrun"));
          throw;
        }
      },
      TraceError);
  EXPECT_THROW(Reader(scratch.file("short")), TraceError);
  EXPECT_THROW(Reader(scratch.file("absent")), UserError);
  EXPECT_THROW(Reader(scratch.file("")), UserError);  // a directory
  EXPECT_THROW(Writer(scratch.file("no/such/place"), {}), UserError);
}

// The limit of file sizes stands for a disk that is full: both fail in the same places.
TEST(TraceFile, FullDiskLeavesACompleteFile) {
  const ScratchDirectory scratch;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{400 << 10, before.rlim_max};
  MadeTrace made(1);
  {
    Writer writer(scratch.file("t"), {{"command", {"made"}}}, {.workers = 2, .chunk_words = 20000});
    writer.add_process({});
    made.describe(writer.process(0));
    writer.start_thread(0, 0, 1, 0, 0);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int k = 0; k < 300; ++k) {
      uint64_t instructions = 0;
      const auto words = made.paths(500, &instructions);
      writer.add_paths(0, words, 500, instructions);
    }
    writer.finish({{"exit_code", 0}});
    EXPECT_NE(writer.stopped(), "");
    setrlimit(RLIMIT_FSIZE, &before);
  }
  const Reader trace(scratch.file("t"));
  EXPECT_EQ(trace.incomplete().rfind("the recording ended early: ", 0), 0u) << trace.incomplete();
  EXPECT_TRUE(trace.summary().contains("stopped"));
  EXPECT_GE(trace.chunks().size(), 1u);
  EXPECT_EQ(trace.summary()["instructions"], trace.instructions());
  for (size_t k = 0; k < trace.chunks().size(); ++k) trace.read_chunk(k);
}

}  // namespace
}  // namespace simrun::traces

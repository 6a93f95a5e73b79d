// Makes the seeds of the kept corpus anew, after a change of the format: MAKE_CORPUS DIRECTORY
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/traces/drmemtrace_builder.h"
#include "tests/traces/made_trace.h"
#include "traces/export/formats.h"
#include "traces/reader.h"

namespace simrun::traces {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

Bytes contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// As sections_fuzz.cpp reads it.
Bytes sections_of(const std::string& path) {
  const SectionFileReader file(path);
  Bytes all;
  for (const Section& s : file.sections()) {
    Bytes payload = file.read(s);
    if (s.type == SectionType::kChunk) {
      const uint32_t numbers[2] = {static_cast<uint32_t>(s.first_instruction), static_cast<uint32_t>(s.instructions)};
      const auto* const bytes = reinterpret_cast<const uint8_t*>(numbers);
      payload.insert(payload.begin(), bytes, bytes + sizeof numbers);
    }
    all.push_back(static_cast<uint8_t>(s.type));
    for (int k = 0; k < 3; ++k) all.push_back(static_cast<uint8_t>(payload.size() >> 8 * k));
    all.insert(all.end(), payload.begin(), payload.end());
  }
  return all;
}

std::string drmemtrace_of_everything() {
  using Builder = DrmemtraceBuilder;
  return Builder()
      .header()
      .time(1000)
      .code(0x401000, code::kLoad).read(0x7000, 8)
      .code(0x401003, code::kAdd).read(0x7010, 8).write(0x7010, 8)
      .code(0x401006, code::kRepMovs).read(0x7010, 8).write(0x9010, 8)
      .record(Builder::kNoFetch, 3, 0x401006).read(0x7008, 8).write(0x9008, 8)
      .marker(Builder::kKernelEvent, 0x401006)
      .code(0x500000, code::kSyscall).marker(Builder::kSyscall, 15).marker(Builder::kKernelTransfer, 0x500002)
      .record(Builder::kInstruction, 3, 0x401006).read(0x7000, 8).write(0x9000, 8)
      .code(0x401009, code::kJumpIfZero, Builder::kTaken)
      .marker(Builder::kChunkFooter, 0).marker(Builder::kOrdinal, 30).thread(101).time(1001)
      .record(Builder::kInstruction, 3, 0x10).record(Builder::kBundle, 2, 0x0302)
      .record(Builder::kDataFlush, 0, 0x8000).record(Builder::kDataFlushEnd, 0, 0x18000)
      .marker(Builder::kSyscall, 202).marker(Builder::kMaybeBlocking, 0).marker(Builder::kKernelStart, 202)
      .record(Builder::kInstruction, 4, 0xffffffff81000000).marker(Builder::kKernelEnd, 202)
      .marker(Builder::kWindow, 0).marker(Builder::kWindow, 1)
      .code(0x401000, code::kReturn, Builder::kReturn)
      .end()
      .bytes();
}

// The first byte as use_import.cpp reads it.
void imports(const fs::path& directory, const std::string& trace, const std::string& scratch) {
  const char* const endings[] = {"", ".gz", ".xz", ".zst"};
  for (const char* format : {"champsim", "din"})
    for (uint8_t compression = 0; compression < 4; ++compression) {
      const std::string file = scratch + endings[compression];
      const Reader reader(trace);
      for (const ExportFormat& f : export_formats()) {
        if (f.name != std::string(format)) continue;
        CompressedOutput out(file);
        const auto exporter = f.make(out, {});
        walk(reader, {.to = 40, .most_references = 8}, *exporter);
        exporter->finish();
        out.finish();
      }
      Bytes bytes = contents(file);
      bytes.insert(bytes.begin(), compression);
      write(directory / format / ("made" + std::to_string(compression)), bytes);
    }
  const std::string lackey = std::string(1, '\0') + "==1== Lackey\nI  00401000,3\n L 1ffefff000,8\nI  00401003,4\n M 1ffefff008,4\n S 600,1\n";
  write(directory / "lackey" / "made", {lackey.begin(), lackey.end()});
  const std::string drmemtrace = std::string(1, '\0') + drmemtrace_of_everything();
  write(directory / "drmemtrace" / "made", {drmemtrace.begin(), drmemtrace.end()});
}

void make_corpus(const fs::path& directory) {
  const ScratchDirectory scratch;
  for (const uint64_t seed : {1, 2, 3}) {
    MadeTrace made(seed, 6);
    const std::string file = scratch.file("t");
    {
      Writer writer(file, {{"command", {"made"}}}, {.workers = 1, .chunk_words = 300});
      writer.add_process({});
      made.describe(writer.process(0));
      writer.add_module({0, "/made/program", "0123456789abcdef", 0x400000, 0x500000, 0x1000});
      for (uint32_t t = 0; t < 2; ++t) writer.start_thread(t, 0, 100 + t, 64 * t, 0);
      for (int k = 0; k < 20; ++k) {
        uint64_t instructions = 0;
        const auto paths = made.paths(5, &instructions);
        writer.add_paths(k % 2, paths, 5, instructions);
        const auto event = made.event();
        writer.add_event(k % 2, event, static_cast<uint32_t>(event[0]) == static_cast<uint32_t>(Event::kCut) ? event[2] : 0);
      }
      writer.finish({{"exit_code", 0}, {"threads", nlohmann::ordered_json::array()}});
    }
    write(directory / "file" / ("made" + std::to_string(seed)), contents(file));
    write(directory / "sections" / ("made" + std::to_string(seed)), sections_of(file));
    if (seed == 1) imports(directory, file, scratch.file("x"));
  }
}

}  // namespace
}  // namespace simrun::traces

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: MAKE_CORPUS DIRECTORY\n", stderr), 2;
  simrun::traces::make_corpus(argv[1]);
  return 0;
}

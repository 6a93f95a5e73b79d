// The parts of writing and reading chunks, each by itself, on the chunks of a trace that was recorded.
#include <fmt/format.h>
#include <zstd.h>

#include <ctime>

#include "traces/chunk_codec.h"
#include "traces/reader.h"

namespace simrun::traces {
namespace {

constexpr int kRounds = 3;
constexpr size_t kChunks = 6;

// Least of some rounds: processor time in nanoseconds.
template <class F>
double least_time(F&& f) {
  double least = 0;
  for (int round = 0; round < kRounds; ++round) {
    timespec before{}, after{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    f();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    const double time = 1e9 * static_cast<double>(after.tv_sec - before.tv_sec) +
                        static_cast<double>(after.tv_nsec - before.tv_nsec);
    if (round == 0 || time < least) least = time;
  }
  return least;
}

Bytes compressed(const Bytes& raw, int level) {
  Bytes out(ZSTD_compressBound(raw.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), level));
  return out;
}

// Columns of the first part, as docs/trace-format.md, "Chunks", names them.
void print_columns(const Bytes& raw) {
  ByteReader from(raw);
  from.varint();                                   // threads
  for (int k = 0; k < 11; ++k) from.varint();      // thread, process, tid, bases, instructions, counts, known
  for (const char* name : {"path runs", "path codes", "path ids", "exceptions", "their codes", "their values", "residues of 1", "of 2",
                           "of 3", "of 4", "of 8 bytes", "events"}) {
    const auto column = from.raw(from.varint());
    const Bytes bytes(column.begin(), column.end());
    fmt::print("  {:<12} {:>9} bytes, {:>9} compressed (level 3), {:>9} (level 1)\n", name, bytes.size(),
               compressed(bytes, 3).size(), compressed(bytes, 1).size());
  }
}

void measure(const std::string& path) {
  const Reader trace(path);
  const ShapesOf shapes = [&](uint32_t process) { return trace.process(process).shapes(); };
  const size_t count = std::min(kChunks, trace.chunks().size());
  std::vector<Chunk> chunks;
  double words = 0;
  for (size_t k = 0; k < count; ++k) {
    chunks.push_back(trace.read_chunk(k));
    for (const ThreadPart& part : chunks.back().threads) words += static_cast<double>(part.words.size());
  }
  std::vector<Bytes> raw(count), stored(count);
  const auto print = [&](const std::string& what, double time) { fmt::print("{:<22} {:6.2f} ns a word\n", what, time / words); };
  ChunkEncoder encoder;  // keeps its memory, as in a recording
  print("encode", least_time([&] {
    for (size_t k = 0; k < count; ++k) raw[k] = encoder.encode(chunks[k], shapes);
  }));
  for (const int level : {-1, 1, 3}) {
    size_t bytes = 0;
    print(fmt::format("compress, level {}", level), least_time([&] {
      bytes = 0;
      for (size_t k = 0; k < count; ++k) bytes += (stored[k] = compressed(raw[k], level)).size();
    }));
    fmt::print("{:24} {:.3f} bits a word\n", "", 8 * static_cast<double>(bytes) / words);
  }
  print("decompress", least_time([&] {
    for (size_t k = 0; k < count; ++k) ZSTD_decompress(raw[k].data(), raw[k].size(), stored[k].data(), stored[k].size());
  }));
  print("decode", least_time([&] {
    for (size_t k = 0; k < count; ++k) decode_chunk(raw[k], shapes);
  }));
  print_columns(raw.back());
}

}  // namespace
}  // namespace simrun::traces

int main(int argc, char** argv) {
  if (argc != 2) return fmt::print(stderr, "usage: trace_codec_benchmark TRACE\n"), 2;
  try {
    simrun::traces::measure(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

#include "cli/program_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>

namespace simrun::cli {

namespace {

constexpr uint64_t kSmallestChunk = 8 * 1024;
constexpr uint64_t kMostChunks = 8;

// A size with units, within bounds that CLI11 prints when it refuses.
CLI::Option* add_size(CLI::App& app, const char* name, uint64_t& value, const char* text, uint64_t least, uint64_t most,
                      const char* bounds) {
  const auto within = [=](const std::string& word) {
    const uint64_t bytes = std::stoull(word);
    return bytes < least || bytes > most ? std::string(bounds) : std::string();
  };
  return app.add_option(name, value, text)
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(CLI::Validator(within, "").application_index(-1))
      ->type_name("SIZE")
      ->group("Engine");
}

void add_engine_options(CLI::App& app, ProgramOptions& o) {
  add_size(app, "--ring-size", o.ring_bytes, "Shared memory for the stream of one thread", 2 * kSmallestChunk,
           uint64_t{1} << 30, "from 16KiB to 1GiB")
      ->default_str("1MiB");
  add_size(app, "--code-cache", o.code_cache_bytes, "Size of the code cache", 256u << 10, uint64_t{1} << 30,
           "from 256KiB to 1GiB")
      ->default_str("64MiB");
  app.add_option("--max-superblock", o.max_superblock_instructions, "Longest superblock, in instructions")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N")
      ->capture_default_str()
      ->group("Engine");
  app.add_flag_callback(
         "--no-link", [&o] { o.link_superblocks = false; }, "Every exit of a superblock goes through the dispatcher")
      ->group("Engine");
  app.add_flag_callback(
         "--no-elide", [&o] { o.elide_words = false; }, "Every operand gets address words of its own")
      ->group("Engine");
  app.add_flag_callback(
         "--verify", [&o] { o.max_superblock_instructions = 1; }, "Slow and simple: superblocks of one instruction")
      ->group("Engine");
  app.add_option("--force-safe-points", o.force_safe_points, "Take the slow path of every N-th check on average")
      ->type_name("N")
      ->capture_default_str()
      ->group("Engine");
}

// yes, no, or a pattern.
void add_following_options(CLI::App& app, ProgramOptions& o) {
  app.add_option_function<std::string>(
         "--follow-children",
         [&o](const std::string& word) { o.follow_children = word == "yes"  ? "*"
                                                             : word == "no" ? ""
                                                                            : word; },
         "Which processes that the program starts are simulated too: yes (all), no, or those that execute a program "
         "whose "
         "name matches the pattern, as 'cc1*'; the others run natively")
      ->type_name("yes|no|GLOB")
      ->default_str("yes");
  app.add_flag("--wait-for-children", o.wait_for_children,
               "Go on until the last of them has ended (else those that outlive the program go on without simrun)");
}

}  // namespace

void add_program_options(CLI::App& app, ProgramOptions& o) {
  app.add_flag("-q,--quiet", o.quiet, "No report and no progress line; warnings and errors only");
  app.add_flag("--aslr", o.aslr, "Keep address-space randomisation on (off by default, so that runs repeat)");
  app.add_option("--quantum", o.quantum, "Instructions that a thread advances before it is another's turn")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40).description(""))
      ->type_name("N")
      ->capture_default_str();
  add_following_options(app, o);
  app.add_option("--time-slice", o.time_slice,
                 "Instructions that a thread keeps its core when more are runnable than the machine has cores")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40).description(""))
      ->type_name("N")
      ->capture_default_str();
  add_engine_options(app, o);
}

uint32_t ring_chunk_bytes(uint64_t ring_bytes) {
  return static_cast<uint32_t>(std::max(std::bit_floor(ring_bytes / kMostChunks), kSmallestChunk));
}

uint64_t whole_chunks(uint64_t ring_bytes) {
  const uint32_t chunk = ring_chunk_bytes(ring_bytes);
  return ring_bytes / chunk * chunk;
}

}  // namespace simrun::cli

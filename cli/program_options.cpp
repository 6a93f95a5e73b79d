#include "cli/program_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "base/user_error.h"
#include "cli/command_line.h"

namespace simrun::cli {

namespace {

constexpr uint64_t kSmallestChunk = 8 * 1024;
constexpr uint64_t kMostChunks = 8;

CLI::Option* add_size(CLI::App& app, const char* name, uint64_t& value, const char* text, uint64_t least, uint64_t most) {
  return app.add_option(name, value, text)->transform(size_in_bytes(least, most))->type_name("SIZE")->group("Engine");
}

void add_engine_options(CLI::App& app, ProgramOptions& o) {
  add_size(app, "--ring-size", o.ring_bytes, "Shared memory for the stream of one thread", 2 * kSmallestChunk,
           uint64_t{128} << 20)
      ->default_str("1MiB");
  add_size(app, "--code-cache", o.code_cache_bytes, "Size of the code cache", 256u << 10, uint64_t{1} << 30)
      ->default_str("64MiB");
  app.add_option("--described", o.described_superblocks,
                 "Most superblocks of a process that are described to the simulator at a time (about 250 bytes each)")
      ->transform(whole_number(host::kFewestDescribed, host::kMostDescribed))
      ->type_name("N")
      ->capture_default_str()
      ->group("Engine");
  app.add_option("--max-superblock", o.max_superblock_instructions, "Longest superblock, in instructions")
      ->transform(whole_number(1, 64))
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
         "--no-unroll", [&o] { o.unroll_loops = false; }, "Do not unroll short loops (where references are traced they never are)")
      ->group("Engine");
  app.add_flag_callback(
         "--no-fsgsbase", [&o] { o.base_instructions = false; }, "Add segment bases to addresses, as where the kernel has no FSGSBASE")
      ->group("Engine");
  app.add_flag_callback(
         "--verify", [&o] { o.max_superblock_instructions = 1; }, "Slow and simple: superblocks of one instruction")
      ->group("Engine");
  app.add_option("--force-safe-points", o.force_safe_points, "Take the slow path of every N-th check on average, N at least 2; 0: of none")
      ->type_name("N")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->check([](const std::string& n) { return n == "1" ? "with 1 the program would never get anywhere: at least 2" : ""; })
      ->capture_default_str()
      ->group("Engine");
  app.add_option("--protect-code", o.protect_code_after,
                 "Write-protect code that could change but has not in N comparisons; 0: never")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("N")
      ->capture_default_str()
      ->group("Engine");
  app.add_option("--debug-engine", o.engine_log, "Log what the engine does into FILE; -: standard error (docs/diagnosis.md)")
      ->type_name("FILE")
      ->group("Engine");
  app.add_flag("--perf-map", o.perf_map, "Name the code in the code cache for perf and gdb: /tmp/perf-PID.map, /tmp/simrun-PID.elf")
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

// "0,2,4-7".
std::vector<uint32_t> parse_cores(const std::string& text) {
  std::vector<uint32_t> cores;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    uint32_t first = 0, last = 0;
    const char* const stop = part.data() + part.size();
    auto read = std::from_chars(part.data(), stop, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != stop && *read.ptr == '-') read = std::from_chars(read.ptr + 1, stop, last);
    if (read.ec != std::errc() || read.ptr != stop || first > last || last >= sim::kMaxCores)
      throw CLI::ValidationError("--pin", fmt::format("\"{}\" is no list of cores such as 0,2,4-7", text));
    for (uint32_t core = first; core <= last; ++core) cores.push_back(core);
    at = end + 1;
  }
  return cores;
}

}  // namespace

void add_order_options(CLI::App& app, ProgramOptions& o) {
  add_choice(app, "--order", o.recorded_order,
             "Whose references come first: virtual (all cores at one pace, whatever the host did) or recorded (as the "
             "host ran the threads, looked at every 100 microseconds)",
             Choices<bool>{{"virtual", false}, {"recorded", true}})
      ->default_str("virtual");
  app.add_option_function<std::string>(
         "--pin", [&o](const std::string& text) { o.pins = parse_cores(text); },
         "Bind threads to these cores in the order in which they start, and from the first core again: 0,2,4-7")
      ->type_name("CORES");
}

void check_pins(const ProgramOptions& o, uint32_t cores) {
  for (const uint32_t core : o.pins)
    if (core >= cores)
      throw UserError(fmt::format("--pin: there is no core {}, the machine has cores 0 to {}", core, cores - 1), 2);
}

void add_program_options(CLI::App& app, ProgramOptions& o) {
  app.add_flag("-q,--quiet", o.quiet, "No report and no progress line; warnings and errors only");
  app.add_flag("--aslr", o.aslr, "Keep address-space randomisation on (off by default, so that runs repeat)");
  app.add_option("--quantum", o.quantum, "Instructions that a thread runs before the next thread gets a turn")
      ->transform(instruction_count(1, uint64_t{1} << 40))
      ->type_name("N")
      ->capture_default_str();
  add_following_options(app, o);
  app.add_option("--time-slice", o.time_slice,
                 "Instructions that a thread keeps its core when more are runnable than the machine has cores")
      ->transform(instruction_count(1, uint64_t{1} << 40))
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

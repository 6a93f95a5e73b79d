// `simrun view`: a trace for people, from any point.
#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/empty_selection.h"
#include "cli/find_functions.h"
#include "cli/print_error.h"
#include "cli/sub_commands.h"
#include "cli/trace_symbols.h"

#include "traces/export/words.h"
#include "traces/instruction_walk.h"
#include "traces/region.h"

namespace simrun::cli {

namespace {

struct ViewOptions {
  std::string trace, from, to, follow;
  int64_t thread = -1, process = -1;
  uint64_t count = 40;
  bool all = false, symbols = true;
};

ViewOptions parse_view(const Words& words) {
  ViewOptions o;
  CommandLine line("simrun view", "simrun view FILE [OPTIONS]",
                   "Prints instructions of a trace with what they touch. Seeks: the middle of a long trace is as near as its start.");
  line.app().add_option("FILE", o.trace, "A trace of simrun record")->required()->type_name("FILE");
  line.app().add_option("--from", o.from, "First instruction, counted over all threads (2.5M)")->type_name("N");
  line.app().add_option("--to", o.to, "End before this one")->type_name("N");
  line.app().add_option("-n,--count", o.count, "At most so many instructions")
      ->transform(instruction_count())
      ->type_name("N")
      ->capture_default_str();
  line.app().add_flag("--all", o.all, "Up to the end");
  line.app().add_option("--thread", o.thread, "Only this thread")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("N");
  line.app().add_option("--process", o.process, "Only this process (simrun info lists them)")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("N");
  line.app().add_option("--follow", o.follow,
                        "Only instructions at this address (0x401000, or a function's name), or that touch its 64-byte line")
      ->type_name("WHERE");
  line.app().add_flag_callback(
      "--no-symbols", [&o] { o.symbols = false; }, "Addresses only");
  line.parse(words);
  return o;
}

uint64_t bound(const std::string& text, uint64_t otherwise) {
  if (text.empty()) return otherwise;
  const traces::RegionBound b = traces::parse_region_bound(text);
  if (b.kind != traces::RegionBound::Kind::kInstructions)
    throw UserError(fmt::format("\"{}\" is no instruction count", text), 2);
  return b.count;
}

class Viewer final : public traces::Visitor {
 public:
  Viewer(const ViewOptions& options, TraceSymbols* symbols, std::vector<uint64_t> follow)
      : options_(options), symbols_(symbols), follow_(std::move(follow)) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter_, ZYDIS_FORMATTER_STYLE_INTEL);
  }

  bool on_begun_string(const traces::InstructionRecord& i) override {
    if (!wanted(i)) return true;
    show(i);
    fmt::print(" (interrupted)\n");
    return true;
  }

  bool on_instruction(const traces::InstructionRecord& i) override {
    saw_any_ = true;
    if (options_.count == 0 && !options_.all) return false;
    if (!wanted(i)) return true;
    show(i);
    if ((i.flags & traces::kConditional) != 0 && i.next_pc != 0)
      fmt::print(" {}", i.next_pc == i.pc + i.length ? "not taken" : "taken");
    fmt::print("\n");
    return ++shown_ < options_.count || options_.all;
  }

  bool on_event(const traces::EventRecord& e) override {
    saw_any_ = true;
    if (!follow_.empty()) return true;
    fmt::print("{:>12} t{:<3} -- {}", e.number, e.thread, traces::event_word(e.event));
    for (const uint64_t word : e.payload) fmt::print(" {:#x}", word);
    fmt::print("\n");
    return true;
  }
  bool saw_any() const { return saw_any_; }  // whether shown or not

 private:
  void show(const traces::InstructionRecord& i) {
    place(i);
    fmt::print("{:>12} t{:<3} {:012x}  {:<38}", i.number, i.thread, i.pc, disassemble(i));
    if (i.iterations > 1) fmt::print(" {} iterations:", i.iterations);
    constexpr size_t kMost = 8;
    for (size_t k = 0; k < i.references.size() && k < kMost; ++k)
      fmt::print(" {} {:x}/{}", traces::word_of(i.references[k].kind), i.references[k].address, i.references[k].bytes);
    if (i.references.size() > kMost) fmt::print(" and {} more", i.references.size() - kMost);
  }

  bool wanted(const traces::InstructionRecord& i) const {
    constexpr uint64_t kLine = 64;
    if (follow_.empty()) return true;
    for (const uint64_t address : follow_) {
      if (i.pc == address) return true;
      for (const auto& r : i.references)
        if (r.address / kLine <= address / kLine && (r.address + std::max(r.bytes, 1u) - 1) / kLine >= address / kLine) return true;
    }
    return false;
  }

  // A line when the function or the thread changes.
  void place(const traces::InstructionRecord& i) {
    if (symbols_ == nullptr) return;
    const std::string& name = symbols_->name(i.process, i.pc);
    if (name == last_ && i.thread == last_thread_) return;
    last_ = name;
    last_thread_ = i.thread;
    fmt::print("{:>17} {}:\n", fmt::format("t{}", i.thread), name.empty() ? "?" : name);
  }

  std::string disassemble(const traces::InstructionRecord& i) {
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char text[256];
    if (i.code.empty()) return fmt::format("({} bytes)", i.length);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, i.code.data(), i.code.size(), &decoded, operands)) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter_, &decoded, operands, decoded.operand_count_visible, text,
                                                      sizeof text, i.pc, nullptr)))
      return "(unknown instruction)";
    return text;
  }

  const ViewOptions& options_;
  TraceSymbols* symbols_;
  std::vector<uint64_t> follow_;
  ZydisDecoder decoder_;
  ZydisFormatter formatter_;
  uint64_t shown_ = 0;
  bool saw_any_ = false;
  std::string last_;
  uint32_t last_thread_ = ~0u;
};

// An address, or those of a function.
std::vector<uint64_t> followed(const std::string& text, const traces::Reader& trace) {
  if (text.empty()) return {};
  uint64_t address = 0;
  const char* const end = text.data() + text.size();
  if (text.starts_with("0x")) {
    const auto [at, error] = std::from_chars(text.data() + 2, end, address, 16);
    if (error == std::errc{} && at == end) return {address};
  }
  std::vector<uint64_t> addresses;
  for (const traces::Module& m : trace.modules())
    for (const uint64_t found : find_functions(m, text)) addresses.push_back(found);
  if (addresses.empty()) throw UserError(fmt::format("--follow {}: no address (0x...), and no module has such a function", text));
  return addresses;
}

}  // namespace

int view_command(const Words& words) {
  const ViewOptions options = parse_view(words);
  const traces::Reader trace(options.trace);
  if (!trace.incomplete().empty()) print_error("simrun: warning: {}: {}\n", options.trace, trace.incomplete());
  traces::WalkOptions walk;
  walk.from = bound(options.from, 0);
  walk.to = bound(options.to, std::numeric_limits<uint64_t>::max());
  walk.thread = options.thread;
  walk.process = options.process;
  if (options.process >= static_cast<int64_t>(trace.processes()))
    throw UserError(fmt::format("{} has no process {}", options.trace, options.process));
  std::optional<TraceSymbols> symbols;
  if (options.symbols) symbols.emplace(trace);
  Viewer viewer(options, symbols ? &*symbols : nullptr, followed(options.follow, trace));
  traces::walk(trace, walk, viewer);
  const bool is_whole = options.from.empty() && options.to.empty() && options.thread < 0 && options.process < 0;
  if (!viewer.saw_any() && !is_whole) throw nothing_selected(trace, walk);
  return 0;
}

}  // namespace simrun::cli

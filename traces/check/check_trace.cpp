#include "traces/check/check_trace.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "traces/branch_target.h"
#include "traces/replay.h"

namespace simrun::traces {

namespace {

constexpr size_t kMostViolations = 100;

// User addresses: the lower half (57 bits with five levels of page tables), and the vsyscall page.
bool is_plausible(uint64_t address) { return address < uint64_t{1} << 57 || address >= 0xffffffff'ff600000; }

// Where control can go behind a path.
struct PathEnd {
  uint64_t start = 0;  // pc of the first instruction
  uint64_t last = 0;   // and of the last
  uint64_t fall_through = 0;
  uint64_t target = 0;  // of a direct branch
  bool may_fall_through = true, has_target = false, anywhere = false;
  bool system_call = false;
  bool is_guess = false;  // the code is not known, as in what other simulators recorded: nor are lengths and targets
  bool made = false;
};

class Checker {
 public:
  Checker(const Reader& trace, CheckReport& report)
      : trace_(trace),
        report_(report),
        replay_(trace, *this, 64),
        is_region_(trace.summary().contains("region")) {
    ends_.resize(trace.processes());
    for (uint32_t p = 0; p < trace.processes(); ++p) ends_[p].resize(trace.process(p).paths());
  }

  // Sink of the replay.
  uint32_t start_thread(uint32_t thread, uint32_t /*process*/, uint32_t /*tid*/) { return thread; }
  void fetch(uint32_t /*thread*/, uint64_t /*line*/) {}
  void data(uint32_t thread, ReferenceKind kind, uint64_t address, uint32_t bytes) {
    ++report_.references;
    if (kind == ReferenceKind::kPrefetch || is_plausible(address)) [[likely]]
      return;
    violation(chunk_start_, thread, fmt::format("a reference to {:#x} ({} bytes)", address, bytes));
  }

  void chunk(const Chunk& chunk) {
    chunk_start_ = chunk.first_instruction;
    for (const ThreadPart& part : chunk.threads)
      if (!begun_.contains(part.process)) {
        begin_processes(chunk);
        break;
      }
    for (const ThreadPart& part : chunk.threads) follow(part);
    replay_.run(chunk, 0, ~uint64_t{0});
    report_.instructions += chunk.instructions;
  }

  // A whole recording: what a parent says of a child stands before the child's first item.
  void begin_processes(const Chunk& chunk) {
    std::vector<const uint64_t*> at;
    for (const ThreadPart& part : chunk.threads) at.push_back(part.words.data());
    for (const Turn& turn : chunk.turns) {
      const ThreadPart& part = chunk.threads[turn.part];
      if (turn.items != 0 && begun_.insert(part.process).second) begins(part);
      for (uint32_t k = 0; k < turn.items; ++k) {
        const uint64_t* const words = at[turn.part];
        const auto id = static_cast<uint32_t>(*words);
        at[turn.part] += 1 + (id < kFirstPath ? *words >> 32 : trace_.process(part.process).path(id).words);
        if (id < kFirstPath) note_child(part.process, words);
      }
    }
  }

  // A child that is to come, or an image.
  void note_child(uint32_t process, const uint64_t* words) {
    const auto event = static_cast<Event>(static_cast<uint32_t>(*words));
    if (event == Event::kProcessFork && *words >> 32 >= 2) children_.insert({process, words[2]});
    if (event == Event::kExec) children_.insert({process, 0});
  }

  void begins(const ThreadPart& part) {
    const ProcessRecord& record = trace_.process_record(part.process);
    if (record.origin == ProcessRecord::Origin::kLaunched || is_region_ || children_.contains({record.parent, record.token}))
      return;
    violation(chunk_start_, part.thread,
              fmt::format("process {} begins before process {} says so", part.process, record.parent));
  }

  void counts(const nlohmann::json& summary) {
    uint64_t sum = 0;
    for (const auto& [index, thread] : replay_.threads()) sum += thread.counts.instructions;
    expect("instructions of all threads and of all chunks", sum, report_.instructions);
    if (!summary.is_object() || summary.contains("stopped")) return;
    if (summary.contains("instructions") && summary["instructions"].is_number_unsigned())
      expect("instructions of the summary", summary["instructions"].get<uint64_t>(), report_.instructions);
    if (!summary.contains("threads") || !summary["threads"].is_array()) return;
    for (const auto& thread : summary["threads"]) thread_counts(thread);
  }

 private:
  void violation(uint64_t number, uint32_t thread, const std::string& what) {
    if (++report_.violation_count <= kMostViolations)
      report_.violations.push_back(fmt::format("from instruction {}, thread {}: {}", number, thread, what));
  }

  void expect(const std::string& what, uint64_t said, uint64_t found) {
    if (said == found) return;
    ++report_.violation_count;
    report_.violations.push_back(fmt::format("{}: {} said, {} found", what, said, found));
  }

  void thread_counts(const nlohmann::json& said) {
    if (!said.is_object() || !said.contains("index") || !said["index"].is_number_unsigned()) return;
    const auto index = said["index"].get<uint32_t>();
    const auto at = replay_.threads().find(index);
    const Counts none;
    const Counts& found = at == replay_.threads().end() ? none : at->second.counts;
    const auto statistics = said.find("statistics");
    if (statistics == said.end() || !statistics->is_object()) return;
    const std::pair<const char*, uint64_t> all[] = {
        {"instructions", found.instructions}, {"loads", found.loads},
        {"stores", found.stores},             {"prefetches", found.prefetches},
        {"flushes", found.flushes},           {"paths", found.paths},
        {"syscalls", found.syscalls},         {"signals", found.signals},
        {"cuts", found.cuts},                 {"string_iterations", found.string_iterations}};
    for (const auto& [name, value] : all)
      if (const auto v = statistics->find(name); v != statistics->end() && v->is_number_unsigned())
        expect(fmt::format("{} of thread {}", name, index), v->get<uint64_t>(), value);
  }

  // --- Control flow.

  struct Flow {
    const PathEnd* last = nullptr;  // nullptr: anything may follow
    bool entered = false;           // the system call at its end was made
  };

  void follow(const ThreadPart& part) {
    Flow& flow = flows_[part.thread];
    const DescriptorTable& table = trace_.process(part.process);
    uint64_t number = part.first_instruction;
    const uint64_t* at = part.words.data();
    const uint64_t* const end = at + part.words.size();
    while (at != end) {
      const auto id = static_cast<uint32_t>(*at);
      if (id < kFirstPath) {
        event(flow, at, part.thread, number);
        note_child(part.process, at);
        at += 1 + (*at >> 32);
        continue;
      }
      const PathEnd& path = end_of(part.process, id);
      transition(flow, path.start, part.thread, number);
      flow = {&path, false};
      number += table.path(id).instructions;
      at += 1 + table.path(id).words;
    }
  }

  // To the next path, or to where a signal interrupted the thread. The one system call that is none of the stream's is the return from a signal handler.
  void transition(const Flow& flow, uint64_t to, uint32_t thread, uint64_t number, bool interrupted = false) {
    if (flow.last == nullptr || flow.last->is_guess || (flow.last->system_call && !flow.entered)) {
      ++report_.free_transitions;
      return;
    }
    ++report_.transitions;
    const PathEnd& from = *flow.last;
    if (from.anywhere ? interrupted || (is_plausible(to) && to != 0)
                      : (from.may_fall_through && to == from.fall_through) || (from.has_target && to == from.target))
      return;
    if (interrupted && to == from.last) return;   // a call, a step of a string instruction that comes again; a fault of what the engine does itself
    violation(number, thread,
              fmt::format("control goes from the block at {:#x} (which ends at {:#x}) to {:#x}", from.start,
                          from.fall_through, to));
  }

  // A handler starts, a fault cut a superblock short, another program: what follows is elsewhere.
  void event(Flow& flow, const uint64_t* words, uint32_t thread, uint64_t number) {
    switch (static_cast<Event>(static_cast<uint32_t>(words[0]))) {
      case Event::kSignal:
        if (words[0] >> 32 >= 2) transition(flow, words[2], thread, number, true);
        [[fallthrough]];
      case Event::kCut:
      case Event::kExec:
      case Event::kThreadStart:
      case Event::kThreadEnd:
        flow.last = nullptr;
        return;
      case Event::kSyscallEnter:
        flow.entered = true;
        return;
      default:
        return;
    }
  }

  const PathEnd& end_of(uint32_t process, uint32_t id) {
    PathEnd& e = ends_[process][id];
    if (e.made) [[likely]]
      return e;
    e.made = true;
    const DescriptorTable& table = trace_.process(process);
    const Path& path = table.path(id);
    const auto view = table.superblock(path.superblock);
    uint64_t pc = 0, code = 0;
    for (uint32_t i = 0; i < path.instructions; ++i) {
      const StaticInstruction& s = view.instructions[i];
      const uint64_t here = view.pc + static_cast<uint64_t>(int64_t{s.offset});
      if (i != 0) inner_transition(e, here, view.instructions[i - 1], pc, view.pc);
      pc = here;
      const auto bytes = view.code.empty() ? view.code : view.code.subspan(code, s.length);
      code += s.length;
      describe_end(e, s, here, bytes);
    }
    e.is_guess = view.code.empty();
    e.start = view.pc + static_cast<uint64_t>(int64_t{view.instructions[0].offset});
    return e;
  }

  // Within a superblock, once for each path.
  void inner_transition(const PathEnd& before, uint64_t here, const StaticInstruction& s, uint64_t pc, uint64_t block) {
    const bool falls = here == before.fall_through && before.may_fall_through;
    if (falls || (before.has_target && here == before.target) || (s.flags & kRepeats) != 0) return;
    violation(chunk_start_, 0, fmt::format("the block at {:#x} goes on from {:#x} at {:#x}", block, pc, here));
  }

  static void describe_end(PathEnd& e, const StaticInstruction& s, uint64_t pc, std::span<const uint8_t> code) {
    e.last = pc;
    e.fall_through = pc + s.length;
    e.has_target = e.anywhere = false;
    e.system_call = (s.flags & kSystemCall) != 0;
    e.may_fall_through = true;
    if ((s.flags & kEndsBlock) == 0) return;
    const std::optional<uint64_t> target = branch_target(pc, code);
    e.has_target = target.has_value();
    e.target = target.value_or(0);
    e.anywhere = !target && (s.flags & (kIndirect | kReturn)) != 0;
    e.may_fall_through = (s.flags & (kConditional | kSystemCall)) != 0 || (!target && !e.anywhere);
  }

  const Reader& trace_;
  CheckReport& report_;
  Replay<Checker> replay_;
  std::vector<std::vector<PathEnd>> ends_;
  std::map<uint32_t, Flow> flows_;
  std::set<uint32_t> begun_;                           // processes
  std::set<std::pair<uint32_t, uint64_t>> children_;   // parent and token, 0: its next image
  const bool is_region_;
  uint64_t chunk_start_ = 0;
};

}  // namespace

CheckReport check_trace(const Reader& trace, const std::function<void(uint64_t)>& progress) {
  CheckReport report;
  Checker checker(trace, report);
  for (size_t k = 0; k < trace.chunks().size(); ++k) {
    try {
      checker.chunk(trace.read_chunk(k));
    } catch (const FormatError& error) {
      throw TraceError(trace.path(), trace.chunks()[k].section.offset, error.what());
    }
    progress(report.instructions);
  }
  trace.require_undamaged();
  checker.counts(trace.summary());
  return report;
}

}  // namespace simrun::traces

#include "cli/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <map>
#include <set>

#include "cli/report_text.h"
#include "sim/build/validate_machine.h"
#include "sim/stats/timing.h"

namespace simrun::cli {

namespace {

std::string short_command(const RunResult& r) {
  std::string text = fmt::format("{}", fmt::join(r.command, " "));
  constexpr size_t kWidth = 100;
  if (text.size() > kWidth) text = text.substr(0, kWidth - 3) + "...";
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::string ending(const RunResult& r) {
  if (r.attached) return "";
  if (!r.end_is_known) return " (how it ended was not recorded)";
  if (r.signal == 0) return fmt::format(" (exit status {})", r.exit_code);
  const char* name = sigabbrev_np(r.signal);
  return name != nullptr ? fmt::format(" (ended by SIG{})", name) : fmt::format(" (ended by signal {})", r.signal);
}

void put_header(Buffer& out, const RunResult& r) {
  put(out, "\n== simrun: {}{}\n", short_command(r), ending(r));
  if (!r.error.empty()) put(out, "   NOT COMPLETE: {}\n", r.error);
  if (r.machine)
    put(out, "   machine {}: {} core{}, {}-byte lines\n", r.machine->name, r.machine->cores,
        r.machine->cores == 1 ? "" : "s", r.machine->line_bytes);
  put(out, "{}", region_line(r));
  if (r.order == "recorded") put(out, "   order of threads: as they ran (recorded)\n");
}

void put_totals(Buffer& out, const RunResult& r) {
  const channel::ThreadStatistics t = r.totals();
  if (!r.counted) {
    put(out, "   wall time {:.3f} s; {}\n", r.wall_seconds,
        r.mode == RunMode::kNull ? "translation only, nothing was traced"
                                 : grouped(r.drained_words) + " words of stream thrown away");
    return;
  }
  if (r.processes.size() > 1) put(out, "   {:<16}{:>20}\n", "processes", r.processes.size());
  put(out, "   {:<16}{:>20}\n", "threads", r.threads.size());
  put(out, "   {:<16}{:>20}\n", "instructions", grouped(t.instructions));
  if (r.mode != RunMode::kCount) {
    put(out, "   {:<16}{:>20}\n", "loads", grouped(t.loads));
    put(out, "   {:<16}{:>20}\n", "stores", grouped(t.stores));
  }
  if (t.prefetches + t.flushes != 0)
    put(out, "   {:<16}{:>20}\n", "prefetch, flush", fmt::format("{}, {}", grouped(t.prefetches), grouped(t.flushes)));
  put(out, "   {:<16}{:>20}\n", "system calls", grouped(t.syscalls));
  if (t.signals != 0) put(out, "   {:<16}{:>20}\n", "signals", grouped(t.signals));
  const double seconds = std::max(r.wall_seconds, 1e-9);
  if (r.mode == RunMode::kCount)
    return put(out, "   wall time {:.3f} s: {:.1f} MIPS\n", r.wall_seconds,
               static_cast<double>(t.instructions) / seconds / 1e6);
  put(out, "   wall time {:.3f} s: {:.1f} MIPS, {:.1f} million references/s\n", r.wall_seconds,
      static_cast<double>(t.instructions) / seconds / 1e6,
      static_cast<double>(t.loads + t.stores + t.fetch_lines) / seconds / 1e6);
}

void put_row(Buffer& out, const std::string& name, const sim::RequestStatistics& requests, uint64_t instructions) {
  const uint64_t accesses = requests.accesses.demand(), misses = requests.misses.demand();
  put(out, "   {:<12}{:>20}{:>18}{:>11.3f}%{:>12.3f}\n", name, grouped(accesses), grouped(misses),
      per(misses, accesses, 100), per(misses, instructions, 1000));
}

// The level, then each core that used it when more than one core ran.
void put_level(Buffer& out, const sim::LevelStatistics& level, const std::vector<uint64_t>& by_core,
               uint64_t instructions) {
  put_row(out, level.name, level.total.requests, instructions);
  const auto used = std::count_if(by_core.begin(), by_core.end(), [](uint64_t n) { return n != 0; });
  if (used < 2) return;
  for (const auto& cache : level.caches)
    for (uint32_t i = 0; i < cache.by_core.size(); ++i)
      if (const uint32_t core = cache.first_core + i; by_core[core] != 0)
        put_row(out, fmt::format("  core {}", core), cache.by_core[i], by_core[core]);
}

void put_caches(Buffer& out, const RunResult& r) {
  if (!r.machine) return;
  const std::vector<uint64_t> by_core = r.instructions_by_core();
  const uint64_t instructions = r.totals().instructions;
  put(out, "\n   {:<12}{:>20}{:>18}{:>12}{:>12}\n", "level", "accesses", "misses", "miss rate", "MPKI");
  for (const auto& level : r.caches.levels) put_level(out, level, by_core, instructions);
  put(out, "   {:<12}{:>20} lines read, {} written back\n", "memory", grouped(r.caches.memory.reads),
      grouped(r.caches.memory.writes));
  if (!r.memory_trace.empty()) put(out, "   {}\n", r.memory_trace);
}

void put_prefetches(Buffer& out, const RunResult& r) {
  bool headed = false;
  for (const auto& level : r.caches.levels) {
    const sim::CacheStatistics& c = level.total;
    if (c.prefetches_issued == 0) continue;
    if (!headed)
      put(out, "\n   {:<12}{:>16}{:>16}{:>16}{:>12}{:>12}{:>12}\n", "prefetches", "issued", "useful", "unused",
          "accuracy", "coverage", "late");
    headed = true;
    put(out, "   {:<12}{:>16}{:>16}{:>16}{:>11.1f}%{:>11.1f}%{:>11.1f}%\n", level.name, grouped(c.prefetches_issued),
        grouped(c.prefetches_useful), grouped(c.prefetches_unused), per(c.prefetches_useful, c.prefetches_issued, 100),
        per(c.prefetches_useful, c.prefetches_useful + c.requests.misses.demand(), 100),
        per(c.prefetches_late, c.prefetches_useful, 100));
  }
}

void put_tlbs(Buffer& out, const RunResult& r) {
  if (!r.machine || !r.machine->tlb) return;
  sim::TlbCounts fetches, data;
  for (const sim::CoreStatistics& core : r.caches.cores) fetches += core.fetch_tlb, data += core.data_tlb;
  const uint64_t instructions = r.totals().instructions;
  put(out, "\n   {:<12}{:>16}{:>16}{:>16}{:>16}\n", "TLB", "accesses", "misses", "walks", "walks/1000 i.");
  for (const auto& [name, c] : {std::pair("fetches", fetches), std::pair("data", data)})
    put(out, "   {:<12}{:>16}{:>16}{:>16}{:>16.3f}\n", name, grouped(c.accesses), grouped(c.misses), grouped(c.walks),
        per(c.walks, instructions, 1000));
}

// Cores that ran: cycles, and where their data came from.
void put_cycles(Buffer& out, const RunResult& r) {
  if (!r.machine || r.machine->memory_latency == 0) return;
  const std::vector<uint64_t> by_core = r.instructions_by_core();
  std::string head = fmt::format("\n   {:<12} {:>15} {:>7} {:>7} {:>7}   {}", "estimate", "cycles", "CPI", "AMAT I",
                                 "AMAT D", "stalls by");
  for (size_t level = 1; level < r.machine->levels.size(); ++level)
    head += fmt::format(" {:>7}", r.machine->levels[level].name);
  put(out, "{}  memory\n", head);
  for (uint32_t core = 0; core < by_core.size(); ++core) {
    if (by_core[core] == 0) continue;
    const sim::CoreTiming t = sim::timing_of(*r.machine, r.caches.cores[core], by_core[core]);
    put(out, "   {:<12} {:>15} {:>7.3f} {:>7.2f} {:>7.2f}   {:<9}", fmt::format("core {}", core),
        grouped(static_cast<uint64_t>(t.cycles)), t.cpi, t.fetch_amat, t.data_amat, "");
    for (size_t level = 1; level < t.stall_cycles.size(); ++level)
      put(out, " {:>6.1f}%", t.cycles > 0 ? 100 * t.stall_cycles[level] / t.cycles : 0);
    put(out, "\n");
  }
}

// A thread's or a process's row: instructions, misses of each level for 1000 of them, CPI.
void put_origin(Buffer& out, const RunResult& r, const std::string& name, uint64_t instructions,
                const sim::CoreStatistics& counts) {
  put(out, "   {:<28}{:>18}", name, grouped(instructions));
  uint64_t misses = 0;
  std::string columns;
  for (size_t level = counts.served.size(); level-- > 1;) {
    misses += counts.served[level].demand();
    columns = fmt::format(" {:>10.3f}", per(misses, instructions, 1000)) + columns;
  }
  put(out, "{} {:>8.3f}\n", columns, sim::timing_of(*r.machine, counts, instructions).cpi);
}

// When there is more than the cores' rows say: several processes, or threads that changed cores.
void put_origins(Buffer& out, const RunResult& r) {
  constexpr size_t kMostRows = 32;
  const bool by_process = r.processes.size() > 1;
  const bool by_thread =
      std::any_of(r.cores.begin(), r.cores.end(), [](const auto& core) { return core.switches != 0; });
  if (!r.machine || r.caches.threads.empty() || (!by_process && !by_thread)) return;
  put(out, "\n   {:<28}{:>18}", by_process ? "by process" : "by thread", "instructions");
  for (const sim::LevelConfig& level : r.machine->levels) put(out, " {:>10}", level.name + " MPKI");
  put(out, "{:>9}\n", "CPI");
  std::map<uint32_t, ProcessCounts> by_index;
  if (by_process) by_index = r.counts_by_process();
  const size_t rows = by_process ? r.processes.size() : r.threads.size();
  for (size_t i = 0; i < std::min(rows, kMostRows); ++i) {
    if (by_process) {
      const ProcessReport& p = r.processes[i];
      const std::string name = fmt::format("{} {}", p.pid, p.command.substr(0, 19));
      const ProcessCounts& counts = by_index[p.index];
      put_origin(out, r, name, counts.totals.instructions, counts.model);
    } else if (r.threads[i].index < r.caches.threads.size()) {
      put_origin(out, r, fmt::format("thread {}", r.threads[i].index), r.threads[i].statistics.instructions,
                 r.caches.threads[r.threads[i].index]);
    }
  }
  if (rows > kMostRows) put(out, "   ... {} more\n", rows - kMostRows);
}

// Who served whom, when few cores handed lines over.
void put_transfers(Buffer& out, const RunResult& r) {
  constexpr size_t kMostColumns = 8;
  std::set<uint32_t> from, to;
  for (const sim::Transfer& t : r.caches.transfers) from.insert(t.from), to.insert(t.to);
  if (from.empty() || from.size() > kMostColumns || to.size() > 2 * kMostColumns) return;
  put(out, "\n   {:<12}", "lines from");
  for (const uint32_t core : from) put(out, "{:>14}", fmt::format("core {}", core));
  for (const uint32_t receiver : to) {
    put(out, "\n   {:<12}", fmt::format("  to core {}", receiver));
    for (const uint32_t core : from) {
      uint64_t lines = 0;
      for (const sim::Transfer& t : r.caches.transfers) lines += t.to == receiver && t.from == core ? t.lines : 0;
      put(out, "{:>14}", grouped(lines));
    }
  }
  put(out, "\n");
}

void put_coherence(Buffer& out, const RunResult& r) {
  if (!r.machine) return;
  put(out, "\n   {:<12}{:>16}{:>16}{:>16}{:>16}{:>16}\n", "coherence", "upgrades", "invalidations", "interventions",
      "dirty ones", "back-invalid.");
  for (const auto& level : r.caches.levels) {
    const sim::CacheStatistics& c = level.total;
    put(out, "   {:<12}{:>16}{:>16}{:>16}{:>16}{:>16}\n", level.name, grouped(c.upgrades),
        grouped(c.invalidations_received), grouped(c.interventions), grouped(c.dirty_interventions),
        grouped(c.back_invalidations));
  }
}

void put_notes(Buffer& out, const RunResult& r) {
  const channel::ThreadStatistics t = r.totals();
  if (r.events.forks != 0)
    put(out, "   note: {} child process{} ran natively and {} not simulated\n", r.events.forks,
        r.events.forks == 1 ? "" : "es", r.events.forks == 1 ? "is" : "are");
  if (r.native_images != 0)
    put(out, "   note: {} program{} executed or traced by it ran natively and {} not simulated\n", r.native_images,
        r.native_images == 1 ? "" : "s", r.native_images == 1 ? "is" : "are");
  if (r.left_running != 0)
    put(out, "   note: {} process{} outlived the program and went on without simrun (--wait-for-children waits)\n",
        r.left_running, r.left_running == 1 ? "" : "es");
  if (r.events.execs != 0)
    put(out, "   note: the program replaced itself (exec); what came after ran natively and is not simulated\n");
  if (t.stalls != 0)
    put(out, "   note: threads without progress were set aside {} time{}\n", t.stalls, t.stalls == 1 ? "" : "s");
  const auto cut_off = std::count_if(r.threads.begin(), r.threads.end(), [](const auto& thread) { return thread.cut_off; });
  if (cut_off != 0)
    put(out, "   note: {} thread{} ran when the program was killed; what {} did since it last left the code cache is missing\n", cut_off,
        cut_off == 1 ? "" : "s", cut_off == 1 ? "it" : "each");
  if (t.truncated_words != 0)
    put(out, "   note: {} words at the ends of streams were cut off amid a block\n", t.truncated_words);
}

void put_miss_curve(Buffer& out, const RunResult& r) {
  if (!r.miss_curve) return;
  const sim::MissCurve& c = *r.miss_curve;
  put(out, "\n   {} of any size ({} cache{}, fully associative), {} accesses, {} compulsory, {} invalidated\n", c.level,
      c.caches, c.caches == 1 ? "" : "s", grouped(c.accesses), grouped(c.compulsory), grouped(c.invalidated));
  for (const sim::MissCurve::Point& point : c.points)
    if ((std::has_single_bit(point.bytes) && point.bytes >= 1024) || &point == &c.points.back())
      put(out, "   {:>12}{:>20} misses{:>11.3f}%\n", sim::format_size(point.bytes), grouped(point.misses),
          per(point.misses, c.accesses, 100));
}

// A row for each machine: misses for 1000 instructions of each level, lines from memory, CPI.
void put_sweep(Buffer& out, const RunResult& r) {
  if (r.sweep.empty()) return;
  size_t width = 8;
  const auto name = [](const SweepPoint& point) {
    std::string text;
    for (const auto& [key, value] : point.settings) text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
    return text;
  };
  for (const SweepPoint& point : r.sweep) width = std::max(width, name(point).size());
  const uint64_t instructions = r.totals().instructions;
  put(out, "\n   {:<{}}", "MPKI", width);
  for (const auto& level : r.sweep[0].caches.levels) put(out, " {:>10}", level.name);
  put(out, "{:>18}{:>9}\n", "lines read", "CPI");
  for (const SweepPoint& point : r.sweep) {
    put(out, "   {:<{}}", name(point), width);
    for (const auto& level : point.caches.levels)
      put(out, " {:>10.3f}", per(level.total.requests.misses.demand(), instructions, 1000));
    sim::CoreStatistics cores;
    for (const sim::CoreStatistics& core : point.caches.cores) cores += core;
    put(out, " {:>17} {:>8.3f}\n", grouped(point.caches.memory.reads),
        sim::timing_of(point.machine, cores, instructions).cpi);
  }
}

}  // namespace

std::string grouped(uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string engine_report(const RunResult& r) {
  Buffer out;
  const EngineCounts& e = r.engine;
  put(out, "\n   engine: {} superblocks of {:.1f} instructions, {} paths, {} KiB of code, {} links\n",
      grouped(e.superblocks), per(e.translated_instructions, e.superblocks, 1), grouped(e.paths), e.code_bytes >> 10,
      grouped(e.links));
  put(out, "   dispatches: {} new, {} to link, {} indirect, {} system calls, {} checks, {} other\n",
      grouped(e.dispatches_new), grouped(e.dispatches_link), grouped(e.dispatches_indirect),
      grouped(e.dispatches_syscall), grouped(e.dispatches_check), grouped(e.dispatches_other));
  put(out, "   {} signals, {} faults, {} flushes; translation {:.3f} s ({:.2f} us a superblock)\n", grouped(e.signals),
      grouped(e.faults), grouped(e.flushes), e.translation_seconds,
      e.superblocks == 0 ? 0.0 : e.translation_seconds * 1e6 / static_cast<double>(e.superblocks));
  if (e.protected_pages != 0)
    put(out, "   {} pages of code protected, {} given back\n", grouped(e.protected_pages), grouped(e.pages_given_back));
  if (r.counted && r.mode != RunMode::kCount) {
    const channel::ThreadStatistics t = r.totals();
    put(out, "   stream: {} words, {:.2f} bytes an instruction, {:.1f} instructions a path\n", grouped(t.words),
        per(t.words, t.instructions, 8), per(t.instructions, t.paths, 1));
  }
  return fmt::to_string(out);
}

std::string text_report(const RunResult& r) {
  Buffer out;
  put_header(out, r);
  put_totals(out, r);
  put_caches(out, r);
  put_coherence(out, r);
  put_transfers(out, r);
  put_prefetches(out, r);
  put_tlbs(out, r);
  put_miss_curve(out, r);
  put_sweep(out, r);
  put_cycles(out, r);
  put_origins(out, r);
  put_notes(out, r);
  std::string text = fmt::to_string(out) + details_report(r);
  if (r.show_engine) text += engine_report(r);
  return text;
}

std::string region_line(const RunResult& r) {
  if (!r.region) return "";
  if (!r.region->was_reached) return fmt::format("   region: {} was not reached\n", r.region->from);
  const std::string warmed = r.region->warm_up == 0 ? "" : fmt::format(", behind {} that warmed the caches", grouped(r.region->warm_up));
  return fmt::format("   region: instructions {} to {} of the run{}\n", grouped(r.region->first), grouped(r.region->last), warmed);
}

}  // namespace simrun::cli

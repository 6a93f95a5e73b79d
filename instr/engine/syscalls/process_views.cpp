#include "instr/engine/syscalls/process_views.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/signals/actions.h"
#include "instr/engine/syscalls/resource_limits.h"

namespace simrun::engine {
namespace {

using View = void (*)(std::string_view text, std::string& out);

template <typename Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    visit(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
}

uint64_t number(std::string_view text, int base) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

uint64_t first_number(std::string_view line) {
  const size_t at = line.find_first_of("0123456789");
  return at == line.npos ? 0 : number(line.substr(at), 10);
}

void append_number(std::string& out, const char* format, uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  out += text;
}

// "from-to rest" (fs/proc/task_mmu.c, show_vma_header_prefix): the parts of the mapping that are the application's, a
// line each.
bool append_mapping(std::string_view line, std::string& out) {
  const size_t dash = line.find('-'), space = line.find(' ');
  if (dash == line.npos || space == line.npos || dash > space) return false;
  uint64_t from = number(line.substr(0, dash), 16);
  const uint64_t to = number(line.substr(dash + 1, space - dash - 1), 16);
  bool any = false;
  while (from < to) {
    border::AddressRange engine;
    const bool found = find_engine_memory(from, to, engine);
    const uint64_t end = found ? engine.base : to;
    if (from < end) {
      append_number(out, "%08" PRIx64 "-", from);
      append_number(out, "%08" PRIx64, end);
      out += line.substr(space);
      any = true;
    }
    from = found ? engine.base + engine.bytes : to;
  }
  return any;
}

void maps(std::string_view text, std::string& out) {
  for_each_line(text, [&](std::string_view line) { append_mapping(line, out); });
}

// A line as in maps, then lines "Key: value" about it.
void smaps(std::string_view text, std::string& out) {
  bool shown = true;
  for_each_line(text, [&](std::string_view line) {
    const bool key = line[0] >= 'A' && line[0] <= 'Z';
    if (!key) shown = append_mapping(line, out);
    if (key && shown) out += line;
  });
}

std::string read_whole(const char* path) {
  std::string text;
  const int64_t fd = raw_syscall(SYS_openat, static_cast<uint64_t>(AT_FDCWD), word(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  constexpr size_t kStep = 64 * 1024;
  for (int64_t n = 1; n > 0;) {
    const size_t size = text.size();
    text.resize(size + kStep);
    n = raw_syscall(SYS_read, static_cast<uint64_t>(fd), word(text.data() + size), kStep);
    text.resize(size + static_cast<size_t>(n > 0 ? n : 0));
  }
  raw_syscall(SYS_close, static_cast<uint64_t>(fd));
  return text;
}

// fs/proc/task_mmu.c, show_smaps_rollup: a line from the first mapping to the last, and the keys with their sums; those of the mappings
// that are the application's. The keys that the kernel's own text has.
void smaps_rollup(std::string_view text, std::string& out) {
  std::string shown;
  smaps(read_whole("/proc/self/smaps"), shown);
  uint64_t from = ~0ull, to = 0;
  std::vector<std::pair<std::string, uint64_t>> sums;
  for_each_line(text, [&](std::string_view line) {
    if (line[0] >= 'A' && line[0] <= 'Z') sums.emplace_back(line.substr(0, line.find(':') + 1), 0);
  });
  for_each_line(shown, [&](std::string_view line) {
    if (line[0] < 'A' || line[0] > 'Z') {
      if (line.ends_with("[vsyscall]\n")) return;
      from = std::min(from, number(line, 16));
      to = std::max(to, number(line.substr(std::min(line.find('-') + 1, line.size())), 16));
      return;
    }
    for (auto& [key, sum] : sums)
      if (line.starts_with(key)) sum += first_number(line);
  });
  if (to == 0 || sums.empty()) {
    out = text;
    return;
  }
  char header[128];
  const int n = std::snprintf(header, sizeof header, "%08" PRIx64 "-%08" PRIx64 " ---p 00000000 00:00 0 ", from, to);
  out += header;
  out.append(n < 73 ? static_cast<size_t>(73 - n) : 1, ' ');
  out += "[rollup]\n";
  for (const auto& [key, sum] : sums) {
    std::snprintf(header, sizeof header, "%-16s%8" PRIu64 " kB\n", key.c_str(), sum);
    out += header;
  }
}

// "from policy ..."
void numa_maps(std::string_view text, std::string& out) {
  for_each_line(text, [&](std::string_view line) {
    const uint64_t from = number(line, 16);
    border::AddressRange engine;
    if (!find_engine_memory(from, from + 1, engine)) out += line;
  });
}

// Bit s - 1 for each signal whose action of the application's satisfies `test`.
template <typename Test>
uint64_t signals_that(Test&& test) {
  uint64_t set = 0;
  for (int s = 1; s <= 64; ++s)
    if (test(application_action(s).handler)) set |= 1ull << (s - 1);
  return set;
}
uint64_t caught_signals() {
  return signals_that([](uint64_t handler) { return handler > kSigIgnore; });
}
uint64_t ignored_signals() {
  return signals_that([](uint64_t handler) { return handler == kSigIgnore; });
}

// The mask of the thread `tid` is the engine's while a signal waits in it: then `mask` becomes the thread's own.
void undo_engine_mask(uint64_t tid, uint64_t& mask) {
  const uint32_t slots = g_process.header->slots_used.load();
  for (uint32_t k = 0; k < slots; ++k) {
    const ThreadContext* c = g_process.slot(k);
    if (c->ring.state.load() == static_cast<uint32_t>(border::ThreadState::kFree) || c->tid != tid) continue;
    if (c->pending.number.load() != 0) mask = c->app_mask;
    if (c->open_to_faults != 0) mask |= 1ull << (SIGSEGV - 1);
  }
}

uint64_t less(uint64_t value, uint64_t part) { return value > part ? value - part : 0; }

// fs/proc/array.c, proc_pid_status; fs/proc/task_mmu.c, task_mem. The peak is not known without the engine: the size
// stands for it.
void status(std::string_view text, std::string& out) {
  uint64_t size = 0, tid = 0;
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with("Pid:")) tid = first_number(line);
    if (line.starts_with("VmSize:")) size = less(first_number(line), engine_memory_bytes() >> 10);
  });
  for_each_line(text, [&](std::string_view line) {
    const std::string_view key = line.substr(0, line.find(':'));
    const auto kibibytes = [&](uint64_t value) {
      out += std::string(key) + ":\t";
      append_number(out, "%8" PRIu64 " kB\n", value);
    };
    if (key == "VmPeak" || key == "VmSize")
      kibibytes(size);
    else if (key == "VmData")
      kibibytes(less(first_number(line), engine_data_bytes() >> 10));
    else if (key == "VmLib")
      kibibytes(less(first_number(line), engine_code_bytes() >> 10));
    else if (key == "SigBlk") {
      uint64_t mask = number(line.substr(line.find_last_of("\t ") + 1), 16);
      undo_engine_mask(tid, mask);
      append_number(out, "SigBlk:\t%016" PRIx64 "\n", mask);
    } else if (key == "SigIgn")
      append_number(out, "SigIgn:\t%016" PRIx64 "\n", ignored_signals());
    else if (key == "SigCgt")
      append_number(out, "SigCgt:\t%016" PRIx64 "\n", caught_signals());
    else
      out += line;
  });
}

// Fields that a space ends, replaced by number (from 1). The second field of stat is in parentheses and may hold
// anything.
std::string with_fields(std::string_view text, const std::vector<std::pair<int, std::string>>& values) {
  std::string out;
  size_t at = 0;
  const size_t name_end = text.rfind(')');
  for (int field = 1; at < text.size(); ++field) {
    size_t end = text.find_first_of(" \n", field == 2 && name_end != text.npos ? name_end : at);
    if (end == text.npos) end = text.size() - 1;
    bool replaced = false;
    for (const auto& [wanted, value] : values)
      if (wanted == field) {
        out += value;
        out += text[end];
        replaced = true;
      }
    if (!replaced) out += text.substr(at, end + 1 - at);
    at = end + 1;
  }
  return out;
}

uint64_t field_value(std::string_view text, int wanted) {
  for (int field = 1; field < wanted; ++field) text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  return number(text, 10);
}

// fs/proc/array.c, do_task_stat: 1 pid, 23 vsize, 32 blocked, 33 sigignore, 34 sigcatch, the signals' lower 31 bits
void stat(std::string_view text, std::string& out) {
  constexpr uint64_t kShown = 0x7fffffff;
  const size_t behind_name = text.rfind(')') + 2;
  const std::string_view rest = text.substr(std::min(behind_name, text.size()));
  const uint64_t size = field_value(rest, 23 - 2);
  uint64_t mask = field_value(rest, 32 - 2);
  undo_engine_mask(number(text, 10), mask);
  out = with_fields(text, {{23, std::to_string(less(size, engine_memory_bytes()))},
                           {32, std::to_string(mask & kShown)},
                           {33, std::to_string(ignored_signals() & kShown)},
                           {34, std::to_string(caught_signals() & kShown)}});
}

// fs/proc/array.c, proc_pid_statm: 1 size, 6 data and stack, in pages
void statm(std::string_view text, std::string& out) {
  out = with_fields(text, {{1, std::to_string(less(field_value(text, 1), engine_memory_bytes() >> 12))},
                           {6, std::to_string(less(field_value(text, 6), engine_data_bytes() >> 12))}});
}

// fs/proc/base.c, proc_pid_limits
void limits(std::string_view text, std::string& out) {
  const auto append_limit = [&](const char* name, const Limit& limit) {
    char line[128];
    std::snprintf(line, sizeof line, "%-25s ", name);
    out += line;
    for (const uint64_t value : {limit.soft, limit.hard}) {
      std::snprintf(line, sizeof line, "%-20s ", value == ~0ull ? "unlimited" : std::to_string(value).c_str());
      out += line;
    }
    out += "bytes     \n";
  };
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with("Max data size"))
      append_limit("Max data size", data_limit());
    else if (line.starts_with("Max address space"))
      append_limit("Max address space", address_space_limit());
    else
      out += line;
  });
}

// fs/proc/base.c, proc_pid_personality
void personality(std::string_view text, std::string& out) {
  char line[16];
  std::snprintf(line, sizeof line, "%08lx\n", number(text, 16) & ~uint64_t{g_process.header->added_personality});
  out += line;
}

struct NamedView {
  std::string_view name;
  View view;
};
constexpr NamedView kViews[] = {{"maps", &maps}, {"smaps", &smaps}, {"smaps_rollup", &smaps_rollup}, {"numa_maps", &numa_maps}, {"status", &status},
                                {"stat", &stat}, {"statm", &statm}, {"limits", &limits},
                                {"personality", &personality}};

}  // namespace

bool is_rewritten(std::string_view name) {
  for (const NamedView& v : kViews)
    if (v.name == name) return true;
  return false;
}

void keep_state_of_reader(std::string_view name, std::string_view before, std::string& text) {
  std::string out;
  if (name == "stat") {
    const auto field = [&](int number) {
      std::string_view rest = before.substr(std::min(before.rfind(')') + 2, before.size()));
      for (int k = 3; k < number; ++k) rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
      return std::string(rest.substr(0, rest.find(' ')));
    };
    out = with_fields(text, {{3, field(3)}, {32, field(32)}, {35, field(35)}});
  } else if (name == "status") {
    for_each_line(text, [&](std::string_view line) {
      const std::string_view key = line.substr(0, line.find(':') + 1);
      const size_t old = before.find(key);
      const bool kept = (key == "State:" || key == "SigBlk:") && old != before.npos;
      out += kept ? before.substr(old, before.find('\n', old) + 1 - old) : line;
    });
  } else {
    return;
  }
  text = std::move(out);
}

bool rewrite_process_file(std::string_view name, std::string& text) {
  for (const NamedView& v : kViews) {
    if (v.name != name) continue;
    std::string out;
    out.reserve(text.size());
    v.view(text, out);
    text = std::move(out);
    return true;
  }
  return false;
}

}  // namespace simrun::engine

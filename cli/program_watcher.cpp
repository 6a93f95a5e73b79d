#include "cli/program_watcher.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>

#include "cli/mapped_module.h"
#include "instr/channel/doorbell.h"

namespace simrun::cli {

using analysis::AllocatorKind;
using border::Event;

namespace {

constexpr uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

}  // namespace

void ProgramWatcher::event(uint32_t thread, Event event, std::span<const uint64_t> payload) {
  if (event == Event::kThreadStart && payload.size() >= 3)
    threads_[thread].thread_pointer = payload[2];
  else if (event == Event::kFsBase && !payload.empty())
    space_.set_thread_pointer(thread, threads_[thread].thread_pointer = payload[0]);
  else if (event == Event::kMappingChange && payload.size() >= 9)
    change_mapping(thread, payload);
  else if (event == Event::kThreadEnd) {
    threads_[thread] = Thread();
    space_.end_thread(thread);
  }
}

// --- Calls ---------------------------------------------------------------------------------------------------------

void ProgramWatcher::learn(uint64_t id, const channel::PathTable& paths) {
  if (id >= actions_.size()) actions_.resize(std::max<size_t>(id + 1, 2 * actions_.size()));
  Action& action = actions_[id];
  action.kind = Action::kNone;
  const channel::PathCode code = paths.code(id);
  const channel::DecodedPath& path = paths[id];
  if (code.instructions.empty()) return;
  action.result = code.result_word;
  if (const auto function = allocators_.find(code.instructions[0].pc);
      function != allocators_.end() && code.argument_words != border::kNoWord) {
    action.arguments = code.argument_words;
    action.allocator = function->second;
  }
  const size_t last = code.instructions.size() - 1;
  const uint8_t flags = code.instructions[last].flags;
  const bool call = (flags & border::kCall) != 0, ret = (flags & border::kReturn) != 0;
  if (!call && !ret) return;
  const auto wanted = call ? channel::ReferenceKind::kStore : channel::ReferenceKind::kLoad;
  for (uint32_t k = 0; k < path.reference_count; ++k) {
    if (code.reference_instruction[k] != last || path.references[k].kind != wanted) continue;
    action.kind = call ? Action::kCall : Action::kReturn;
    action.slot = path.references[k];
  }
  action.address = code.instructions[last].pc + code.instructions[last].length;
}

void ProgramWatcher::act(uint32_t thread, const Action& action, const uint64_t* words) {
  if (action.arguments != border::kNoWord) enter(thread, action, words);
  if (action.kind == Action::kNone) return;
  const uint64_t slot = channel::evaluate(action.slot, words);
  Thread& t = threads_[thread];
  if (action.kind == Action::kCall) {
    if (!t.has_stack) {
      t.has_stack = true;
      space_.start_thread(thread, t.thread_pointer, slot);
    }
    t.calls.call(slot, action.address);
    return;
  }
  const uint64_t result = action.result == border::kNoWord ? 0 : words[action.result];
  if (const auto finished = t.calls.finish(slot, result)) finish(thread, *finished);
}

// What is given back is free from here on: before the function returns another thread may have it. What the allocator's own code gives back was free
// before; this second time may stand behind another thread's allocation of the same place, which it must not end.
void ProgramWatcher::enter(uint32_t thread, const Action& action, const uint64_t* words) {
  const uint64_t* arguments = words + action.arguments;
  analysis::CallStack& calls = threads_[thread].calls;
  if (!calls.enter(action.allocator, arguments) || action.allocator != AllocatorKind::kRelease) return;
  if (arguments[0] != 0 && !is_allocators_code(calls.return_address())) space_.release(arguments[0]);
}

// A block that is to have another size is there until then, and stays if there is no memory. (If another thread has got its place meanwhile,
// it ended then, and this is its late release.)
void ProgramWatcher::finish(uint32_t thread, const analysis::FinishedAllocation& a) {
  if (a.kind == AllocatorKind::kRelease) return;
  const uint64_t bytes = analysis::requested_bytes(a.kind, a.arguments);
  const bool reallocates = a.kind == AllocatorKind::kReallocate || a.kind == AllocatorKind::kReallocArray;
  if (reallocates && a.arguments[0] != 0 && (a.result != 0 || bytes == 0)) space_.release(a.arguments[0]);
  if (a.result != 0) space_.allocate(a.result, bytes, thread, space_.call_site(a.frames));
}

// --- Mappings ------------------------------------------------------------------------------------------------------

void ProgramWatcher::change_mapping(uint32_t thread, std::span<const uint64_t> payload) {
  const uint64_t number = payload[0], result = payload[1], ticket = payload[8];
  switch (number) {
    case 0:
      add_first_modules();
      break;
    case SYS_mmap:
      map(thread, payload);
      break;
    case SYS_munmap:
      space_.unmap(payload[2], whole_pages(payload[3]));
      break;
    case SYS_mremap:
      space_.unmap(payload[2], whole_pages(payload[3]));
      map_memory(thread, result, payload[4], false);
      break;
    case SYS_shmat:
      map_memory(thread, result, payload[5], false);
      break;
    case SYS_shmdt:
      space_.unmap_at(payload[2]);
      break;
    case SYS_brk:
      space_.set_break(result);
      break;
    default:
      break;
  }
  if (ticket == 0) return;
  auto& read = target_.header().mappings_read;
  if (read.load() < ticket) read.store(static_cast<uint32_t>(ticket), std::memory_order_release);
  channel::futex_wake_all(read);
}

void ProgramWatcher::map(uint32_t thread, std::span<const uint64_t> payload) {
  const uint64_t address = payload[1], flags = payload[5], ticket = payload[8];
  if (ticket != 0) return add_module_at(address);
  map_memory(thread, address, payload[3], (flags & MAP_FIXED) != 0);
}

void ProgramWatcher::map_memory(uint32_t thread, uint64_t address, uint64_t bytes, bool fixed) {
  const auto frames = threads_[thread].calls.frames(analysis::CallSites::kMostFrames);
  space_.map_memory(address, whole_pages(bytes), thread, space_.call_site(frames), fixed);
}

// The program itself and its dynamic loader. The engine's own modules are there too, and are nobody's business.
void ProgramWatcher::add_first_modules() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", target_.pid()), error);
  for (const MapsEntry& entry : known_mappings(target_.pid()))
    if (!error && entry.path == program.string()) {
      add_module_at(entry.start);
      break;
    }
  if (space_.code_place(target_.header().app_pc).kind == analysis::PlaceKind::kUnknown)
    add_module_at(target_.header().app_pc);
}

void ProgramWatcher::add_what_is_mapped() {
  const std::vector<MapsEntry> maps = known_mappings(target_.pid());
  for (const MapsEntry& entry : maps) {
    if (entry.path == "[heap]") space_.set_break(entry.start), space_.set_break(entry.end);
    if (!entry.executable || !entry.path.starts_with('/')) continue;
    const MappedModule module = module_around(maps, entry.start);
    if (!module.path.empty()) space_.map_module(module.path, module.start, module.end, module.code_address, module.code_offset);
  }
}

void ProgramWatcher::add_module_at(uint64_t address) {
  const MappedModule module = module_around(known_mappings(target_.pid()), address);
  if (module.path.empty()) return;
  if (space_.map_module(module.path, module.start, module.end, module.code_address, module.code_offset) < 0) return;
  watch_functions_at(module.code_address);
  learn_allocators_code_at(module.code_address);
}

void ProgramWatcher::watch_functions_at(uint64_t address) {
  border::WatchedEntries& watched = target_.header().watched;
  static const std::vector<std::string> names = analysis::allocator_names();
  for (const analysis::FunctionSymbol& f : space_.functions_at(address, names)) {
    const uint32_t count = watched.count.load();
    const auto& all = analysis::allocators();
    const auto row = std::find_if(all.begin(), all.end(), [&](const auto& a) { return f.name == a.name; });
    if (row == all.end() || !allocators_.emplace(f.address, row->kind).second || count == border::kMaxWatchedEntries)
      continue;
    watched.pc[count] = f.address;
    watched.count.store(count + 1, std::memory_order_release);
  }
}

void ProgramWatcher::learn_allocators_code_at(uint64_t address) {
  const auto found = space_.functions_at(address, analysis::glibc_allocator_names());
  if (found.empty()) return;
  const auto [first, last] = std::minmax_element(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  allocators_code_.push_back({first->address, last->address});
}

bool ProgramWatcher::is_allocators_code(uint64_t address) const {
  return std::any_of(allocators_code_.begin(), allocators_code_.end(), [&](const Code& c) { return address >= c.begin && address < c.end; });
}

}  // namespace simrun::cli

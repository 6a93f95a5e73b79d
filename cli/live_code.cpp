#include "cli/live_code.h"

namespace simrun::cli {

LiveCode::Process& LiveCode::meet() {
  const uint32_t index = processes();
  const host::Family::Birth& birth = family_.birth(index);
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.command = family_.command(index);
  if (family_.is_forgotten(index)) return process;
  host::Target& target = family_[index];
  process.modules = birth.is_copy ? processes_[birth.parent]->modules.of_child(index, target.pid())
                                  : TraceModules(index, target.pid(), target.header().app_pc);
  process.mapped.emplace(target.mapping());
  return process;
}

void LiveCode::describe(uint32_t index, traces::DescriptorTable* table) {
  Process& process = *processes_[index];
  if (!process.mapped) return;
  if (table == nullptr) process.own = std::make_unique<traces::DescriptorTable>();
  process.table = table == nullptr ? process.own.get() : table;
  process.descriptors.emplace(*process.mapped, *process.table);
}

void LiveCode::forget_paths(uint32_t index) {
  Process& process = *processes_[index];
  describe(index);
  ++process.times_forgotten;
  process.awaits_new_paths = true;
}

bool LiveCode::has_new_paths(Process& process) {
  const auto renewals = process.mapped->header().statistics.renewals.load(std::memory_order_acquire);
  process.awaits_new_paths = renewals < process.times_forgotten;
  return !process.awaits_new_paths;
}

void LiveCode::forget_process(uint32_t index) {
  if (index >= processes()) return;
  Process& process = *processes_[index];
  process.descriptors.reset();
  process.mapped.reset();
  process.own.reset();
}

void LiveCode::look_at(const channel::MergeThread& thread, std::span<const uint64_t> event) {
  constexpr size_t kTicket = 9;
  if (static_cast<border::Event>(static_cast<uint32_t>(event[0])) != border::Event::kMappingChange) return;
  if (event.size() <= kTicket || event[kTicket] == 0) return;
  for (const traces::Module& module : processes_[thread.process]->modules.update()) tell(module);
}

}  // namespace simrun::cli

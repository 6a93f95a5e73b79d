// Keeps analysis::AddressSpace up with a running program: files that it maps, blocks that it allocates, its threads and
// their calls (docs/stream.md, "Watched calls"). A part of sinks that want to give names to addresses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/memory/address_space.h"
#include "analysis/memory/allocators.h"
#include "analysis/memory/call_stack.h"
#include "cli/by_thread.h"
#include "instr/border/stream.h"
#include "instr/channel/path_table.h"
#include "instr/host/target.h"

namespace simrun::cli {

class ProgramWatcher {
 public:
  // The program must have been started with watch_calls. `parent`: of the process that forked this one, as it was then;
  // null: a new image.
  ProgramWatcher(host::Target& target, const ProgramWatcher* parent) : target_(target) {
    if (parent == nullptr) return;
    space_ = parent->space_;
    allocators_ = parent->allocators_;
    allocators_code_ = parent->allocators_code_;
  }

  // Of a process that was attached to: what it has mapped already. Allocations of before are not known.
  void add_what_is_mapped();
  // As Merge calls its sink (instr/channel/merge.h); `thread` is the index of the thread.
  void event(uint32_t thread, border::Event event, std::span<const uint64_t> payload);
  void after_path(uint32_t thread, const uint64_t* words, const channel::PathTable& paths) {
    const uint64_t id = words[0];
    if (id >= actions_.size() || actions_[id].kind == Action::kNew) learn(id, paths);
    const Action& action = actions_[id];
    if (action.kind != Action::kNone || action.arguments != border::kNoWord) [[unlikely]]
      act(thread, action, words);
  }

  void forget_paths() { actions_ = std::vector<Action>(); }
  // The process has ended: what is left answers questions, and is what its children began with.
  void end() {
    forget_paths();
    threads_ = ByThread<Thread>();
  }

  const analysis::AddressSpace& space() const { return space_; }

 private:
  // What the end of a path means for the calls of its thread.
  struct Action {
    enum Kind : uint8_t { kNew, kNone, kCall, kReturn } kind = kNew;
    uint16_t arguments = border::kNoWord;  // words of a watched function's arguments
    uint16_t result = border::kNoWord;     // kReturn: word of rax
    channel::Reference slot{};             // of the return address
    uint64_t address = 0;                  // kCall: to return to; with arguments: of the function
    analysis::AllocatorKind allocator{};
  };
  struct Thread {
    analysis::CallStack calls;
    uint64_t thread_pointer = 0;
    bool has_stack = false;
  };

  void learn(uint64_t id, const channel::PathTable& paths);
  void act(uint32_t thread, const Action& action, const uint64_t* words);
  void enter(uint32_t thread, const Action& action, const uint64_t* words);
  void finish(uint32_t thread, const analysis::FinishedAllocation& allocation);
  void change_mapping(uint32_t thread, std::span<const uint64_t> payload);
  void map(uint32_t thread, std::span<const uint64_t> payload);
  void map_memory(uint32_t thread, uint64_t address, uint64_t bytes, bool fixed);
  void add_first_modules();
  void add_module_at(uint64_t address);
  void watch_functions_at(uint64_t address);
  void learn_allocators_code_at(uint64_t address);
  bool is_allocators_code(uint64_t address) const;

  host::Target& target_;
  analysis::AddressSpace space_;
  std::vector<Action> actions_;  // by id of the path
  ByThread<Thread> threads_;
  std::unordered_map<uint64_t, analysis::AllocatorKind> allocators_;  // by address
  struct Code {
    uint64_t begin, end;
  };
  std::vector<Code> allocators_code_;  // of which what it frees was free before
};

}  // namespace simrun::cli

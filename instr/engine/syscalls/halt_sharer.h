// What stops or kills a process that shares this memory (CLONE_VM, but no thread): SIGKILL, SIGSTOP, a tracer. It must
// not die, nor stop, with a lock of the engine, nor stop in the code cache, where who stops the world would wait for it
// (docs/threads.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The thread with this number that is in this engine, but in another process than the caller's. Null: none.
ThreadContext* sharer(const ThreadContext* caller, uint64_t tid);

// True: the call was such a one, and `result` is its result. Dispatcher only.
bool answer_halting_call(ThreadContext* context, uint64_t number, int64_t& result);

// proc_pid_stat(5) of a process or thread, from its state on, in `memory`. Empty: /proc says nothing. Allocates nothing.
inline constexpr size_t kStatBytes = 512;
std::string_view read_stat(uint64_t tid, std::span<char, kStatBytes> memory);

}  // namespace simrun::engine

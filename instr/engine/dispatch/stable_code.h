// Code that could change but does not (docs/self-modifying-code.md): its pages lose their write permission in the kernel, so that translations
// need not compare it; before anything writes there they get it back, and the translations go. By a thread in the dispatcher, with in_cache 0
// and without the translation lock.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The thread has compared as often as was agreed (ProcessHeader::protect_code_after): protects what has not changed for a while.
void protect_stable_code(ThreadContext* self);

// The call `number`, with the arguments in the registers: what the kernel might write to for it, or unmap, has been given back, and no other
// thread protects it meanwhile.
class CallInProgress {
 public:
  CallInProgress(ThreadContext* self, uint64_t number);
  ~CallInProgress() { self_->call_in_progress.store(0, std::memory_order_release); }
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;

 private:
  ThreadContext* self_;
};

// The pages of [from, to) that are protected are given back. Whether there were any.
bool give_back(ThreadContext* self, uint64_t from, uint64_t to);
void give_all_back(ThreadContext* self);
// The same, and nothing is protected ever again in this process; without a stop of the other threads, which wait outside of the code cache.
void stop_protecting();

// The kernel ends a process whose thread faults at such a page with SIGSEGV blocked, so where the application blocks it, it is not blocked while the
// thread is in the code cache. The application's own fault ends the process as natively; for one that is sent then, which is for whom does not block
// it, the thread leaves, it is sent again, and nothing is protected ever again.
void open_to_faults(ThreadContext* self);    // the last thing before the code cache is entered
void close_to_faults(ThreadContext* self);   // the first thing behind it
void follow_sent_fault(ThreadContext* self);   // when what the thread left for is done

// For the signal handler: whether the access that faulted in the code cache, with this error code, was a write to such a page. Then it is done
// again behind give_back().
bool is_write_to_stable_code(uint64_t address, uint64_t error);

}  // namespace simrun::engine

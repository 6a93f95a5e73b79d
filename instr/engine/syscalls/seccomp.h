// seccomp(2) of the application (docs/kernel-interface.md): its filters are in the kernel and see its own calls only;
// the strict mode, and what filters say of the calls that the engine makes in the application's name, is judged here.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

enum class Verdict {
  kAllowed,
  kAsked,          // a supervisor is to be asked, at the gate or by the clone routine
  kKernelDecides,  // a filter has something to say: the call goes to the kernel as it is
  kKilled,         // strict mode: the thread ends
};

// Before anything is done for a call. Without filters and strict mode this is one comparison.
Verdict judge_call(const ThreadContext* context, uint64_t number);

// seccomp and prctl(PR_SET_SECCOMP): true when the engine has done the call (`result`). A call that sets a filter is
// made through the gate; `signalled`: a signal came first, nothing happened.
bool answer_seccomp_call(ThreadContext* context, uint64_t number, int64_t& result, bool& signalled);

}  // namespace simrun::engine

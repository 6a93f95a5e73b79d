// Instructions that cannot be copied into the code cache: they would leave it. The dispatcher does what they do.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The thread is before such an instruction (Flow::kUnsupported) at app.pc: far jump, call and return, near branches of 16 bits, iret, xbegin, xabort,
// rdtsc when g_traps_tsc, cpuid when g_answers_cpuid, a popf that runs alone, what g_bases_are_ours is about. Afterwards it is where that leads, or (false) the signal of the fault is pending. Dispatcher only.
bool do_uncopied_instruction(ThreadContext* context);

// Has this processor extensions that the program is not to see? Any time.
bool has_unknown_features();

}  // namespace simrun::engine

// x87's last instruction pointer (Intel SDM vol. 1, 8.1.8): of what ran in the code cache it is an address there. It becomes the
// application's before anything stores it, and before the translation goes that it points into.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// In the thread's vector state. Under the translation lock.
void settle_fpu_pointer(ThreadContext* context);
// Of all threads, while the world is stopped.
void settle_fpu_pointers();
// Takes the lock, if need be.
void settle_own_fpu_pointer(ThreadContext* context);

}  // namespace simrun::engine

// Dropping translations while threads run in them.
#pragma once

#include "base/address.h"
#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Stops the world and drops all translations, unless someone did since `generation`; the caller holds no lock and has in_cache 0. Where the
// tables of descriptors want it they begin anew, when the simulator has read what all threads have written.
// `waits_for_ever`: else false, and nothing was done, when the others do not come within a tenth of a second.
bool flush_translations(ThreadContext* self, uint64_t generation, bool waits_for_ever);

// The same for the translations of application code in [from, to) only.
void flush_range(ThreadContext* self, AppAddress from, AppAddress to);

// The same; stops nobody when there are none.
void flush_if_translated(ThreadContext* self, AppAddress from, AppAddress to);

}  // namespace simrun::engine

// Pages of private memory that is writable and executable, of whose code translations exist: which of them are *stable*, that is without
// write permission in the kernel although the application gave it, so that their code cannot change unnoticed and is not compared
// (docs/self-modifying-code.md). Only what is known of them: dispatch/stable_code.h protects them and gives them back. Under the translation lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "instr/border/shared_memory.h"

namespace simrun::engine {

inline constexpr uint64_t kPageBytes = 4096;

bool is_stable(AppAddress at);
// Whether a page of [from, to) is.
bool has_stable_page(uint64_t from, uint64_t to);

// Code there is compared from now on, or has changed: it waits for a whole epoch without either.
void note_compared(AppAddress from, AppAddress to);

// An epoch ends: the pages that have been quiet for one, and may be tried again, in runs. Pages that were given back wait longer each time.
std::vector<border::AddressRange> end_epoch();
// Whether the page is one of those still; an epoch may have ended in between.
bool is_quiet(uint64_t page);
// It is no memory of that kind any more, or other memory. None of it is stable.
void forget_compared(uint64_t from, uint64_t to);
void note_stable(uint64_t from, uint64_t to);
// The stable pages in [from, to) in runs. They are so no more.
std::vector<border::AddressRange> take_stable(uint64_t from, uint64_t to);

}  // namespace simrun::engine

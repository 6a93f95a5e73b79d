// Which application memory may be translated. A view of /proc/self/maps, renewed when it does not know a page and dropped when the
// application changes its mappings. Dispatcher only, under the translation lock.
#pragma once

#include <cstdint>

#include "base/address.h"

namespace simrun::engine {

// How many of the `wanted` bytes from `pc` on are readable and executable for the application.
uint32_t executable_bytes(AppAddress pc, uint32_t wanted);

// Whether what is executable there can change without a system call that the engine sees: it is writable, or shared with another mapping.
// False where nothing is executable.
bool code_may_change(AppAddress pc);

// The application's mappings changed.
void forget_address_space();

}  // namespace simrun::engine

// CHECK: an invariant that stays on in release builds. A failed check reports and ends the process; the engine installs
// its own reporter (thread, application pc, last events), everyone else gets the line on standard error.
#pragma once

namespace simrun {

using CheckReporter = void (*)(const char* file, int line, const char* expression);

// Replaces the reporter that runs before the process ends. Any time.
void set_check_reporter(CheckReporter reporter);

[[noreturn]] void check_failed(const char* file, int line, const char* expression);

}  // namespace simrun

#define CHECK(expression)                                            \
  do {                                                               \
    if (!(expression)) [[unlikely]]                                  \
      ::simrun::check_failed(__FILE__, __LINE__, #expression);       \
  } while (0)

#ifdef NDEBUG
#define DCHECK(expression) ((void)0)
#else
#define DCHECK(expression) CHECK(expression)
#endif

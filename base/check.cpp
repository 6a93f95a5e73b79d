#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace simrun {
namespace {
CheckReporter g_reporter = nullptr;
}

void set_check_reporter(CheckReporter reporter) { g_reporter = reporter; }

void check_failed(const char* file, int line, const char* expression) {
  if (g_reporter) g_reporter(file, line, expression);
  std::fprintf(stderr, "simrun: internal error: %s:%d: check failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace simrun

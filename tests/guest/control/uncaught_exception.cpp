// An exception that nobody catches: terminate, a message on standard error, SIGABRT.
#include <sys/resource.h>

#include <stdexcept>

#include "tests/guest/guest.h"

int main() {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  finish();
  throw std::runtime_error("nobody wants me");
}

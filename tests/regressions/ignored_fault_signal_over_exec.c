// SIG_IGN for SIGSEGV and friends is inherited across exec; handlers become the default.
#include <signal.h>

#include "tests/guest/guest.h"

int main(int argc, char** argv) {
  (void)argc;
  struct sigaction now;
  if (getenv("SECOND") == NULL) {
    signal(SIGSEGV, SIG_IGN);
    signal(SIGTRAP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    setenv("SECOND", "yes", 1);
    execv("/proc/self/exe", argv);
    CHECK(!"exec");
  }
  sigaction(SIGUSR1, NULL, &now);
  CHECK(now.sa_handler == SIG_IGN);
  sigaction(SIGSEGV, NULL, &now);
  CHECK(now.sa_handler == SIG_IGN);
  sigaction(SIGTRAP, NULL, &now);
  CHECK(now.sa_handler == SIG_IGN);
  return finish();
}

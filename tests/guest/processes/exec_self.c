// A program that replaces itself some times: arguments, environment, descriptors, mask and ignored signals are handed
// on, handlers are not.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "tests/guest/guest.h"

static void handler(int signal) { (void)signal; }

int main(int argc, char** argv) {
  const int round = argc > 1 ? atoi(argv[1]) : 0;
  char number[20], fd_text[20];
  if (round > 0) {
    sigset_t now;
    struct sigaction action;
    CHECK(argc == 3 && strcmp(getenv("ROUND"), argv[1]) == 0);
    CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR2) && !sigismember(&now, SIGUSR1));
    CHECK(sigaction(SIGUSR1, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    CHECK(fcntl(atoi(argv[2]), F_GETFD) == 0 && fcntl(atoi(argv[2]) + 1, F_GETFD) == -1);
  }
  printf("round %d\n", round);
  if (round == 4) return finish();
  fflush(stdout);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_SETMASK, &set, NULL);
  signal(SIGUSR1, handler);
  signal(SIGHUP, SIG_IGN);
  const int kept = round ? atoi(argv[2]) : open("/dev/null", O_RDONLY);
  if (round == 0) CHECK(dup3(kept, kept + 1, O_CLOEXEC) == kept + 1);
  snprintf(number, sizeof number, "%d", round + 1);
  snprintf(fd_text, sizeof fd_text, "%d", kept);
  setenv("ROUND", number, 1);
  if (round % 2) execl("/proc/self/exe", argv[0], number, fd_text, (char*)NULL);
  else execl(argv[0], argv[0], number, fd_text, (char*)NULL);
  CHECK(0);
}

// Children that end by a signal: whether the kernel says that it wrote a core file, by the signal, the limit, and PR_SET_DUMPABLE.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum Way { kSent, kRaised, kFault, kLimited, kUndumpable };

static void end_by(int number, enum Way way) {
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit none = {0, 0};
    if (way == kLimited) setrlimit(RLIMIT_CORE, &none);
    if (way == kUndumpable) prctl(PR_SET_DUMPABLE, 0);
    if (way == kFault) *(volatile int*)8 = 1;
    if (way == kSent) kill(getpid(), number);
    raise(number);
    _exit(1);
  }
  siginfo_t info;
  int status;
  CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  printf("signal %d, way %d: %d, ended by %d, core %d, code %d\n", number, way, WIFSIGNALED(status), WTERMSIG(status), WCOREDUMP(status) != 0,
         info.si_code);
}

int main(void) {
  char folder[] = "core_status_XXXXXX";
  CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
  const int signals[] = {SIGABRT, SIGSEGV, SIGQUIT, SIGILL, SIGTRAP, SIGSYS, SIGTERM, SIGKILL};
  for (unsigned k = 0; k < sizeof signals / sizeof *signals; ++k)
    for (enum Way way = kSent; way <= kRaised; ++way) end_by(signals[k], way);
  end_by(SIGSEGV, kFault);
  end_by(SIGABRT, kLimited);
  end_by(SIGABRT, kUndumpable);
  // Nothing of the engine's large areas is in it. (Where core files have another name, there is none here.)
  struct stat core;
  if (stat("core", &core) == 0) CHECK(core.st_blocks * 512 < 64 << 20);
  (void)!system("rm -f core core.*");
  CHECK(chdir("..") == 0 && rmdir(folder) == 0);
  return finish();
}

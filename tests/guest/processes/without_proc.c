// A program that is executed where /proc is not mounted, or is something else.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static int run(const char* self) {
  const pid_t child = fork();
  if (child == 0) {
    execl(self, self, "child", NULL);
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

int main(int argc, char** argv) {
  if (argc == 2) return access("/proc/self/maps", F_OK) == 0 ? 6 : 7;
  skip_unless(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "right to a mount namespace");
  CHECK_EQUAL(run(argv[0]), 6 << 8);
  CHECK(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
  CHECK_EQUAL(run(argv[0]), 7 << 8);
  CHECK(umount2("/proc", MNT_DETACH) == 0);
  int unmounted = 0;
  while (umount2("/proc", MNT_DETACH) == 0) unmounted = 1;  // it may be mounted more than once
  if (unmounted) CHECK_EQUAL(run(argv[0]), 7 << 8);
  return finish();
}

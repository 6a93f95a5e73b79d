// build: -pthread
// Processes in other roots and namespaces: without /proc, under other numbers, with other users; and what they start there.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static void* nothing(void* argument) { return argument; }

// New threads, code and processes, as anywhere.
static void works(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
  unsigned char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const unsigned char bytes[] = {0xb8, 77, 0, 0, 0, 0xc3};
  memcpy(code, bytes, sizeof bytes);
  CHECK(((int (*)(void))(uintptr_t)code)() == 77 && munmap(code, 4096) == 0);
  const pid_t child = fork();
  if (child == 0) _exit(3);
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
}

static void in_child(void (*what)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    what();
    _exit(0);
  }
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK_EQUAL(status, 0);
}

static void another_root(void) {
  char folder[] = "XXXXXX";
  CHECK(mkdtemp(folder) != NULL);
  if (chroot(folder) == 0) {
    CHECK(chdir("/") == 0 && open("/proc/self/maps", O_RDONLY) == -1 && errno == ENOENT);
    works();
    CHECK(execl("/bin/true", "true", NULL) == -1 && errno == ENOENT);
    works();
  }
}

static void another_user_space(void) {
  if (unshare(CLONE_NEWUSER) != 0) return;
  works();
  if (unshare(CLONE_NEWNS) != 0) return;
  works();
  if (unshare(CLONE_NEWPID) != 0) return;
  const pid_t child = fork();   // the first process of its name space
  if (child == 0) {
    CHECK(getpid() == 1 && getppid() == 0);
    works();
    _exit(4);
  }
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
}

static void others(void) {
  if (unshare(CLONE_NEWUTS | CLONE_NEWIPC) == 0) CHECK(sethostname("guest", 5) == 0);
  if (unshare(CLONE_NEWNET) == 0) works();
  CHECK(unshare(CLONE_FS | CLONE_FILES | CLONE_SYSVSEM) == 0);
  works();
}

static int in_its_space(void* unused) {
  (void)unused;
  if (getpid() != 1) return 1;
  works();
  return execl("/bin/sh", "sh", "-c", "exit 6", NULL);
}

static void made_there(void) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  const pid_t child = clone(in_its_space, stack + sizeof stack, CLONE_NEWPID | SIGCHLD, NULL);
  if (child < 0) return;
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 6);
}

int main(void) {
  in_child(another_root);
  in_child(another_user_space);
  in_child(others);
  made_there();
  works();
  return finish();
}

// build: -pthread
// prctl and its kin: what a process says of itself, and sees of it in /proc.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static int holds(const char* path, const char* expected) {
  char content[4096] = "";
  const int fd = open(path, O_RDONLY);
  CHECK(fd >= 0 && read(fd, content, sizeof content - 1) >= 0 && close(fd) == 0);
  return strstr(content, expected) != NULL;
}

static void* named(void* unused) {
  char name[16];
  CHECK(pthread_setname_np(pthread_self(), "second") == 0 && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "second") == 0);
  CHECK(holds("/proc/thread-self/comm", "second") && holds("/proc/self/comm", "a name"));
  return unused;
}

static void names(void) {
  char name[16];
  CHECK(prctl(PR_SET_NAME, "a name that is too long") == 0 && prctl(PR_GET_NAME, name) == 0);
  CHECK(strcmp(name, "a name that is ") == 0 && holds("/proc/self/comm", "a name that is \n") && holds("/proc/self/status", "a name that is "));
  CHECK(holds("/proc/self/stat", "(a name that is )"));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, named, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void settings(void) {
  int value = 0;
  CHECK(prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0 && prctl(PR_GET_PDEATHSIG, &value) == 0 && value == SIGUSR2);
  CHECK(prctl(PR_SET_PDEATHSIG, 100) == -1 && errno == EINVAL && prctl(PR_SET_PDEATHSIG, 0) == 0);
  CHECK(prctl(PR_SET_TIMERSLACK, 123456) == 0 && prctl(PR_GET_TIMERSLACK) == 123456 && prctl(PR_SET_TIMERSLACK, 0) == 0);
  CHECK(prctl(PR_SET_KEEPCAPS, 1) == 0 && prctl(PR_GET_KEEPCAPS) == 1 && prctl(PR_SET_KEEPCAPS, 0) == 0);
  CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1);
  CHECK(prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0) == 0 && prctl(PR_MCE_KILL_GET, 0, 0, 0, 0) == PR_MCE_KILL_EARLY);
  CHECK(prctl(PR_CAPBSET_READ, 1000) == -1 && errno == EINVAL);
  CHECK(prctl(PR_GET_UNALIGN, &value) == -1 && errno == EINVAL);
  CHECK(prctl(99999, 0) == -1 && errno == EINVAL);
  CHECK(prctl(PR_GET_DUMPABLE) == 1 && prctl(PR_SET_DUMPABLE, 2) == -1 && errno == EINVAL);
  CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
  CHECK(prctl(PR_GET_SECCOMP) == 0);
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0) == -1 && errno == EINVAL);
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
  CHECK(holds("/proc/self/status", "NoNewPrivs:\t1"));
  int* address = NULL;
  CHECK(prctl(PR_GET_TID_ADDRESS, &address) == 0 || errno == EINVAL);
  int cleared;
  CHECK(syscall(SYS_set_tid_address, &cleared) == syscall(SYS_gettid));
}

static void death_of_the_parent(void) {
  int ends[2], status;
  CHECK(pipe(ends) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && write(ends[1], "r", 1) == 1);
      for (;;) pause();
    }
    char byte;
    _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);   // adopted, and killed
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
}

static void scheduling(void) {
  cpu_set_t set, old;
  CHECK(sched_getaffinity(0, sizeof old, &old) == 0);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &old)) continue;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
    unsigned where = 1000, node;
    CHECK(syscall(SYS_getcpu, &where, &node, NULL) == 0 && where == (unsigned)processor && sched_getcpu() == processor);
  }
  CHECK(sched_setaffinity(0, sizeof old, &old) == 0);
  CHECK(sched_getscheduler(0) == SCHED_OTHER);
  struct sched_param parameter = {0};
  CHECK(sched_setscheduler(0, SCHED_BATCH, &parameter) == 0 && sched_getscheduler(0) == SCHED_BATCH);
  errno = 0;
  CHECK(setpriority(PRIO_PROCESS, 0, 5) == 0 && getpriority(PRIO_PROCESS, 0) == 5 && holds("/proc/self/stat", " 5 "));
}

static void capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  CHECK(syscall(SYS_capget, &header, data) == 0);
  data[0].effective = data[0].inheritable = data[1].effective = data[1].inheritable = 0;
  CHECK(syscall(SYS_capset, &header, data) == 0);
  CHECK(holds("/proc/self/status", "CapEff:\t0000000000000000"));
}

// Files of /proc are as readable as natively for who has given up his user, and show as little.
static int shown(const char* what) {
  static char maps[1 << 18];
  size_t size = 0;
  const int fd = open("/proc/self/maps", O_RDONLY);
  CHECK(fd >= 0);
  for (ssize_t n; (n = read(fd, maps + size, sizeof maps - 1 - size)) != 0; size += (size_t)n) CHECK(n > 0);
  maps[size] = 0;
  close(fd);
  return strstr(maps, what) != NULL;
}

static void another_user(void) {
  CHECK(shown("[stack]") && !shown("simrun"));
  if (setresuid(65534, 65534, 65534) != 0) return;
  CHECK(prctl(PR_GET_DUMPABLE) == 0 && shown("[stack]") && !shown("simrun"));
  CHECK(prctl(PR_GET_DUMPABLE) == 0 && holds("/proc/self/status", "Uid:\t65534\t65534"));
  CHECK(prctl(PR_SET_DUMPABLE, 1) == 0 && shown("[stack]") && !shown("simrun"));
}

int main(void) {
  names();
  settings();
  death_of_the_parent();
  scheduling();
  pid_t child = fork();
  if (child == 0) {
    another_user();
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  capabilities();
  return finish();
}

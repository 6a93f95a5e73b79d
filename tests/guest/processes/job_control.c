// Sessions, groups, terminals and stopped children: what shells do.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "tests/guest/guest.h"

static volatile int hung_up, continued;

static void on_hangup(int number) { hung_up = number; }
static void on_continue(int number) { continued = number; }

static int wait_for(pid_t child, int options) {
  int status;
  pid_t found;
  while ((found = waitpid(child, &status, options)) == -1 && errno == EINTR) continue;
  CHECK_EQUAL(found, child);
  return status;
}

static void stop_and_continue(void) {
  int ends[2];
  char byte = 'n';
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);   // SIGTSTP does not stop an orphaned group
    signal(SIGCONT, on_continue);
    for (int i = 0; i < 3; ++i) {
      continued = 0;
      raise(i == 1 ? SIGTSTP : SIGSTOP);
      while (!continued) continue;
      CHECK(read(ends[0], &byte, 1) == 1);   // a new stop would hide that it went on
    }
    _exit(7);
  }
  for (int i = 0; i < 3; ++i) {
    int status = wait_for(child, WUNTRACED);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == (i == 1 ? SIGTSTP : SIGSTOP));
    CHECK(kill(child, SIGCONT) == 0);
    status = wait_for(child, WCONTINUED);
    CHECK(WIFCONTINUED(status) && write(ends[1], &byte, 1) == 1);
  }
  const int status = wait_for(child, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

// Stopped from outside amid computing, and while it sleeps in the kernel.
static void stopped_from_outside(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    volatile uint64_t sum = 0;
    CHECK(write(ends[1], "r", 1) == 1);
    for (;;) sum = mix(sum, 1);
  }
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    for (;;) pause();
  }
  char byte;
  CHECK(read(ends[0], &byte, 1) == 1);
  const pid_t both[] = {child, sleeper};
  for (int round = 0; round < 3; ++round)
    for (int k = 0; k < 2; ++k) {
      CHECK(kill(both[k], SIGSTOP) == 0 && WIFSTOPPED(wait_for(both[k], WUNTRACED)));
      CHECK(kill(both[k], SIGCONT) == 0 && WIFCONTINUED(wait_for(both[k], WCONTINUED)));
    }
  for (int k = 0; k < 2; ++k) CHECK(kill(both[k], SIGTERM) == 0 && WTERMSIG(wait_for(both[k], 0)) == SIGTERM);
}

static void terminal(void) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0) return;
  char name[64];
  CHECK(grantpt(master) == 0 && unlockpt(master) == 0 && ptsname_r(master, name, sizeof name) == 0);
  int ready[2];
  CHECK(pipe(ready) == 0);
  const pid_t leader = fork();
  if (leader == 0) {
    close(master);
    CHECK(setsid() == getpid());
    const int fd = open(name, O_RDWR);
    CHECK(fd >= 0 && tcgetsid(fd) == getpid() && tcgetpgrp(fd) == getpgrp());
    struct termios settings;
    CHECK(tcgetattr(fd, &settings) == 0);
    settings.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
    CHECK(tcsetattr(fd, TCSANOW, &settings) == 0);
    struct winsize size;
    CHECK(ioctl(fd, TIOCGWINSZ, &size) == 0);
    // A group in the background is stopped when it reads.
    const pid_t background = fork();
    if (background == 0) {
      setpgid(0, 0);
      char byte;
      _exit(read(fd, &byte, 1) == 1 ? byte : 1);
    }
    setpgid(background, background);
    CHECK(WSTOPSIG(wait_for(background, WUNTRACED)) == SIGTTIN);
    signal(SIGTTOU, SIG_IGN);
    CHECK(tcsetpgrp(fd, background) == 0 && kill(background, SIGCONT) == 0);
    CHECK(write(ready[1], "r", 1) == 1);
    CHECK_EQUAL(WEXITSTATUS(wait_for(background, 0)), 'k');
    CHECK(tcsetpgrp(fd, getpgrp()) == 0);
    signal(SIGHUP, on_hangup);
    CHECK(write(ready[1], "r", 1) == 1);
    while (!hung_up) sched_yield();
    _exit(9);
  }
  char byte;
  CHECK(read(ready[0], &byte, 1) == 1 && write(master, "k", 1) == 1 && read(ready[0], &byte, 1) == 1);
  CHECK(close(master) == 0);
  CHECK_EQUAL(WEXITSTATUS(wait_for(leader, 0)), 9);
}

// What a group gets when its last tie to the session goes: SIGHUP and SIGCONT.
static void orphaned_group(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t leader = fork();
  if (leader == 0) {
    CHECK(setsid() > 0);
    const pid_t member = fork();
    if (member == 0) {
      close(ends[0]);
      signal(SIGHUP, on_hangup);
      CHECK(setpgid(0, 0) == 0 && write(ends[1], "r", 1) == 1);
      raise(SIGSTOP);
      while (!hung_up) continue;
      CHECK(write(ends[1], "h", 1) == 1);
      _exit(0);
    }
    CHECK(WIFSTOPPED(wait_for(member, WUNTRACED)));
    _exit(0);
  }
  close(ends[1]);
  char text[2];
  CHECK(read(ends[0], text, 1) == 1);
  CHECK_EQUAL(wait_for(leader, 0), 0);
  CHECK(read(ends[0], text, 1) == 1 && text[0] == 'h');
}

int main(void) {
  CHECK(setpgid(0, 0) == 0 || errno == EPERM);
  stop_and_continue();
  stopped_from_outside();
  terminal();
  orphaned_group();
  return finish();
}

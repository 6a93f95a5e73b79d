// Children that are killed just after their fork, before they are known to simrun: those that come later are children like any others.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t make_child(useconds_t lives) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(lives);
    _exit(7);
  }
  if (child < 0) exit(1);
  return child;
}

int main(void) {
  int status;
  srand(1);
  for (int k = 0; k < 300; ++k) {
    const pid_t child = make_child(900000);
    usleep((useconds_t)(rand() % 500));
    if (kill(child, SIGKILL) != 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) return 2;
  }
  for (int k = 0; k < 60; ++k) {
    const pid_t child = make_child(20000);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) return 3;
  }
  puts("done");
  return 0;
}

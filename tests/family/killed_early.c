// Starts programs and kills each right away, after 0 to 2 ms: before, while and after an engine is put in. Prints how many were
// ended by that.
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

int main(void) {
  int killed = 0;
  for (int k = 0; k < 100; ++k) {
    char* words[] = {"sleep", "10", 0};
    pid_t child = 0;
    if (k % 2 != 0) {
      if (posix_spawnp(&child, words[0], 0, 0, words, environ) != 0) return 1;
    } else if ((child = fork()) == 0) {
      execvp(words[0], words);
      _exit(1);
    }
    usleep(k * 20);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  printf("%d\n", killed);
  return 0;
}

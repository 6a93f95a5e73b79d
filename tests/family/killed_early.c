// Starts programs and kills each right away: after 0 to 2 ms, so before, while and after an engine is put in; or as soon as the process is seen to
// execute the program, so that it ends in its exec stop. Prints how many were ended by that.
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

// Until `child` executes another program than this one, or a second has gone by.
static void wait_for_exec(pid_t child) {
  char link[64], before[PATH_MAX], now[PATH_MAX];
  const ssize_t own = readlink("/proc/self/exe", before, sizeof before);
  snprintf(link, sizeof link, "/proc/%d/exe", child);
  for (int k = 0; k < 1000000; ++k) {
    const ssize_t n = readlink(link, now, sizeof now);
    if (n < 0 || n != own || memcmp(now, before, (size_t)n) != 0) return;
  }
}

int main(void) {
  int killed = 0;
  for (int k = 0; k < 400; ++k) {
    char* words[] = {"sleep", "10", 0};
    pid_t child = 0;
    if (k % 2 != 0) {
      if (posix_spawnp(&child, words[0], 0, 0, words, environ) != 0) return 1;
    } else if ((child = fork()) == 0) {
      execvp(words[0], words);
      _exit(1);
    }
    if (k < 100)
      usleep(k * 20);
    else
      wait_for_exec(child);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  printf("%d\n", killed);
  return 0;
}

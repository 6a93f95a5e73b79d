// So many children as are asked for, all at once, each of which computes for a while.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sums[1024];

int main(int count, char** words) {
  const int children = count == 2 ? atoi(words[1]) : 0;
  for (int k = 0; k < children; ++k) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) continue;
    usleep(100000);
    for (long step = 0; step < 300000; ++step) sums[step & 1023] += step;
    _exit(7);
  }
  for (int k = 0; k < children; ++k) {
    int status;
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7) return 1;
  }
  puts("done");
  return 0;
}

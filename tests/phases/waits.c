/* waits: the first thread executes some 3 million instructions, and then waits for what others do.
   waits process: for a child that executes the same program again, as "waits alone", which is as long as the threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* work(void* rounds) {
  for (volatile long i = 0; i < *(long*)rounds; ++i) continue;
  return NULL;
}

int main(int count, char** words) {
  long few = 600000, many = 4000000;
  if (count > 1 && strcmp(words[1], "alone") == 0) return work(&many) != NULL;
  work(&few);
  if (count > 1) {
    const pid_t child = fork();
    if (child == 0) execl(words[0], words[0], "alone", NULL);
    int status = 0;
    return waitpid(child, &status, 0) != child || status != 0;
  }
  pthread_t threads[3];
  for (int t = 0; t < 3; ++t)
    if (pthread_create(&threads[t], NULL, work, &many) != 0) return 1;
  for (int t = 0; t < 3; ++t) pthread_join(threads[t], NULL);
  return 0;
}

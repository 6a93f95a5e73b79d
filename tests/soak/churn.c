// The program that runs all through a soak: threads, generated code, mappings, signals, children, in rounds that leave
// nothing behind. Prints the number of rounds at SIGTERM: memory that grows is then the engine's.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 6 };

static volatile sig_atomic_t stop, alarms;

static void on_term(int number) { stop = number; }
static void on_alarm(int number) { alarms += number == SIGALRM; }

// mov eax, value; ret, at a place of its own in each round.
static int generated(int value) {
  unsigned char code[6] = {0xb8, 0, 0, 0, 0, 0xc3};
  unsigned char* const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code + 1, &value, 4);
  memcpy(page + value % 4096, code, 6);
  mprotect(page, 8192, PROT_READ | PROT_EXEC);
  const int result = ((int (*)(void))(page + value % 4096))();
  munmap(page, 8192);
  return result;
}

static void* work(void* argument) {
  const long seed = (long)argument;
  long sum = 0;
  for (int k = 0; k < 20; ++k) {
    char* const block = malloc(1000 + (size_t)k * 100);
    memset(block, k, 1000);
    sum += block[999] + generated((int)(seed * 20 + k));
    free(block);
  }
  raise(SIGUSR1);
  return (void*)sum;
}

static void round_of_threads(long seed) {
  pthread_t threads[kThreads];
  for (long k = 0; k < kThreads; ++k)
    if (pthread_create(&threads[k], NULL, work, (void*)(seed + k)) != 0) abort();
  for (long k = 0; k < kThreads; ++k) {
    void* sum;
    pthread_join(threads[k], &sum);
    if ((long)sum != 190 + 20 * 20 * (seed + k) + 190) abort();
  }
}

static void round_of_a_child(void) {
  const pid_t child = fork();
  if (child == 0) _exit(generated(7));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) abort();
}

int main(void) {
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  action.sa_handler = on_term;
  sigaction(SIGTERM, &action, NULL);
  const struct itimerval every = {{0, 5000}, {0, 5000}};
  setitimer(ITIMER_REAL, &every, NULL);
  long rounds = 0;
  for (; !stop; ++rounds) {
    round_of_threads(rounds % 50);
    if (rounds % 16 == 0) round_of_a_child();
  }
  printf("%ld rounds\n", rounds);
  return rounds > 0 && alarms > 0 ? 0 : 1;
}

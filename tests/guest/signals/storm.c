// build: -pthread
// Two threads throw signals at two that compute, call the system, take locks and allocate: hundreds of deliveries, none
// lost to a crash.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/guest/guest.h"

static atomic_int delivered, stop;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t victims[2];
static uint64_t shared;

static void handler(int signal) {
  (void)signal;
  ++delivered;
}

static void* suffer(void* id) {
  uint64_t hash = 1;
  pthread_barrier_wait(&barrier);
  while (!stop) {
    char* block = malloc(hash % 5000 + 1);
    block[0] = (char)hash;
    hash = mix(hash, (uint64_t)block[0]);
    pthread_mutex_lock(&lock);
    ++shared;
    pthread_mutex_unlock(&lock);
    CHECK(getpid() > 0);
    free(block);
    uint64_t a = hash, n = 30;
    asm volatile("stc; 1: adc $3, %0; loop 1b" : "+r"(a), "+c"(n) : : "cc");
    CHECK_EQUAL(a, hash + 91);
  }
  return id;
}

static void* attack(void* id) {
  pthread_barrier_wait(&barrier);
  while (!stop) pthread_kill(victims[(intptr_t)id], SIGUSR1 + 2 * (delivered & 1));
  return id;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
  pthread_barrier_init(&barrier, NULL, 5);
  pthread_t attackers[2];
  for (intptr_t i = 0; i < 2; ++i) CHECK(pthread_create(&victims[i], NULL, suffer, (void*)i) == 0);
  for (intptr_t i = 0; i < 2; ++i) CHECK(pthread_create(&attackers[i], NULL, attack, (void*)i) == 0);
  pthread_barrier_wait(&barrier);
  while (delivered < 500) sched_yield();
  stop = 1;
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(attackers[i], NULL) == 0 && pthread_join(victims[i], NULL) == 0);
  return finish();
}

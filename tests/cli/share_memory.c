// share_memory KIND ROUNDS: two processes add to one counter in turn, in memory that they share (KIND: anonymous, file, segment) or each to
// its own copy (private). They begin when both are there. Three instructions a round.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

static void add(volatile long* counter, long rounds) {
  __asm__ volatile(
      "1: lock addq $1, (%1)\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(rounds)
      : "r"(counter)
      : "memory", "cc");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* kind = argv[1];
  const long rounds = atol(argv[2]);
  long *mine, *of_child;
  if (strcmp(kind, "file") == 0) {
    const int fd = memfd_create("shared", 0);
    if (fd < 0 || ftruncate(fd, 8192) != 0) return 3;
    mine = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    of_child = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);   // another address for the same page
    mine += 512;
  } else if (strcmp(kind, "segment") == 0) {
    const int id = shmget(IPC_PRIVATE, 4096, 0600);
    mine = shmat(id, NULL, 0);
    of_child = mine;
    shmctl(id, IPC_RMID, NULL);
  } else {
    mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, (strcmp(kind, "private") == 0 ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
    of_child = mine;
  }
  if (mine == MAP_FAILED || of_child == MAP_FAILED) return 3;
  int* const there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (there == MAP_FAILED || pipe(ends) != 0) return 3;
  const pid_t child = fork();
  if (child < 0) return 4;
  // The parent sleeps until the child is there, so that it goes on at the child's time; the child spins until it does.
  char byte = 0;
  if (child == 0) {
    if (write(ends[1], &byte, 1) != 1) return 5;
    while (__atomic_load_n(there, __ATOMIC_SEQ_CST) == 0) continue;
  } else {
    if (read(ends[0], &byte, 1) != 1) return 5;
    __atomic_store_n(there, 1, __ATOMIC_SEQ_CST);
  }
  add(child == 0 ? of_child : mine, rounds);
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  printf("%ld\n", *mine / rounds);
  return status != 0;
}

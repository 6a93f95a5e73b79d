/* sharing_program KIND ROUNDS: two processes write the same 64 lines in turn, ROUNDS times each, in memory that they share (KIND:
   anonymous, file, segment) or each in its own copy (private). One waits while the other works, so that what goes from cache to cache
   does not depend on the host. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kLines = 64, kWordsOfLine = 8, kBytes = 4096 };

static int work(volatile long* memory, int rounds, int from, int to, int begins) {
  char byte = 0;
  for (int round = 0; round < rounds; ++round) {
    if ((round != 0 || !begins) && read(from, &byte, 1) != 1) return 5;
    for (int line = 0; line < kLines; ++line) ++memory[line * kWordsOfLine];
    if (write(to, &byte, 1) != 1) return 6;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* kind = argv[1];
  const int rounds = atoi(argv[2]);
  long *mine, *of_child;
  if (strcmp(kind, "file") == 0) {
    const int fd = memfd_create("shared", 0);
    if (fd < 0 || ftruncate(fd, 2 * kBytes) != 0) return 3;
    mine = mmap(NULL, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    of_child = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, kBytes); /* another address for the same page */
    if (mine != MAP_FAILED) mine += kBytes / sizeof *mine;
  } else if (strcmp(kind, "segment") == 0) {
    const int id = shmget(IPC_PRIVATE, kBytes, 0600);
    of_child = mine = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
  } else {
    const int flags = MAP_ANONYMOUS | (strcmp(kind, "private") == 0 ? MAP_PRIVATE : MAP_SHARED);
    of_child = mine = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  }
  int there[2], back[2];
  if (mine == MAP_FAILED || of_child == MAP_FAILED || pipe(there) != 0 || pipe(back) != 0) return 3;
  const pid_t child = fork();
  if (child < 0) return 4;
  if (child == 0) _exit(work(of_child, rounds, there[0], back[1], 0));
  int status = work(mine, rounds, back[0], there[1], 1), of_it = 0;
  waitpid(child, &of_it, 0);
  printf("%ld\n", mine[0] / rounds);
  return status != 0 ? status : WEXITSTATUS(of_it);
}

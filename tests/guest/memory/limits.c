// build: -pthread
// The program's own limits on address space and data: by each call that asks for memory, set and read by each call that can.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

#define MIB (1ul << 20)

static void* map(unsigned long bytes, int protection) {
  return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void set(int resource, unsigned long soft) {
  struct rlimit limit;
  CHECK(getrlimit(resource, &limit) == 0);
  limit.rlim_cur = soft;
  CHECK(prlimit(getpid(), resource, &limit, NULL) == 0);
  struct rlimit now;
  CHECK(syscall(SYS_prlimit64, syscall(SYS_gettid), resource, NULL, &now) == 0);
  CHECK_EQUAL(now.rlim_cur, soft);
}

static void address_space(void) {
  char* kept = map(8 * MIB, PROT_READ | PROT_WRITE);
  void* const heap = sbrk(0);
  set(RLIMIT_AS, 300 * MIB);
  CHECK(map(301 * MIB, PROT_NONE) == MAP_FAILED && errno == ENOMEM);
  CHECK(mremap(kept, 8 * MIB, 400 * MIB, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
  CHECK(sbrk(301 * MIB) == (void*)-1 && errno == ENOMEM);
  CHECK(sbrk(0) == heap);
  char* more = map(200 * MIB, PROT_READ);
  CHECK(more != MAP_FAILED);
  CHECK(map(200 * MIB, PROT_READ) == MAP_FAILED && errno == ENOMEM);
  // In place of what is there: nothing more.
  CHECK(mmap(more, 200 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == more);
  CHECK(munmap(more, 200 * MIB) == 0);
  more = map(200 * MIB, PROT_READ);
  CHECK(more != MAP_FAILED);
  CHECK(malloc(250 * MIB) == NULL);
  CHECK(munmap(more, 200 * MIB) == 0);
  set(RLIMIT_AS, RLIM_INFINITY);
  more = map(500 * MIB, PROT_NONE);
  CHECK(more != MAP_FAILED);
  CHECK(munmap(more, 500 * MIB) == 0 && munmap(kept, 8 * MIB) == 0);
}

static void data(void) {
  set(RLIMIT_DATA, 64 * MIB);
  CHECK(map(65 * MIB, PROT_READ | PROT_WRITE) == MAP_FAILED && errno == ENOMEM);
  char* const reserved = map(200 * MIB, PROT_READ);
  CHECK(reserved != MAP_FAILED);
  CHECK(mprotect(reserved, 100 * MIB, PROT_READ | PROT_WRITE) == -1 && errno == ENOMEM);
  CHECK(mprotect(reserved, 10 * MIB, PROT_READ | PROT_WRITE) == 0);
  CHECK(mmap(NULL, 100 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  CHECK(sbrk(65 * MIB) == (void*)-1 && errno == ENOMEM);
  CHECK(sbrk(MIB) != (void*)-1);
  set(RLIMIT_DATA, 0);  // no heap; for mappings the hard limit holds
  CHECK(sbrk(MIB) == (void*)-1 && errno == ENOMEM);
  CHECK(map(65 * MIB, PROT_READ | PROT_WRITE) != MAP_FAILED);
  set(RLIMIT_DATA, RLIM_INFINITY);
  CHECK(mprotect(reserved, 100 * MIB, PROT_READ | PROT_WRITE) == 0);
}

// What the kernel does not count, and in which order it looks.
static void kinds(void) {
  char* const shared = mmap(NULL, 100 * MIB, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char* const stack = mmap(NULL, 100 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
  char* const read_only = map(100 * MIB, PROT_READ);
  CHECK(shared != MAP_FAILED && stack != MAP_FAILED && read_only != MAP_FAILED);
  char* const heap = sbrk(MIB);
  CHECK(heap != (void*)-1);
  set(RLIMIT_DATA, 4 * MIB);
  CHECK(mprotect(shared, 100 * MIB, PROT_READ | PROT_WRITE) == 0);
  CHECK(mprotect(stack, 100 * MIB, PROT_READ | PROT_WRITE) == 0);
  set(RLIMIT_DATA, 4096);   // less than the heap has: it does not even shrink to what is above
  CHECK_EQUAL(syscall(SYS_brk, heap + MIB - 4096), (long)(heap + MIB));
  set(RLIMIT_DATA, RLIM_INFINITY);
  CHECK(sbrk(-(long)MIB) != (void*)-1);
  set(RLIMIT_AS, 16 * MIB);   // less than there is
  CHECK(mprotect(read_only, 100 * MIB, PROT_READ | PROT_WRITE) == 0);
  const int segment = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
  CHECK(segment >= 0);
  CHECK(shmat(segment, NULL, 0) == (void*)-1 && errno == ENOMEM);
  set(RLIMIT_AS, RLIM_INFINITY);
  CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
  CHECK(munmap(shared, 100 * MIB) == 0 && munmap(stack, 100 * MIB) == 0 && munmap(read_only, 100 * MIB) == 0);
}

static void* nothing(void* argument) { return argument; }

static void errors(void) {
  struct rlimit limit = {2, 1};
  CHECK(setrlimit(RLIMIT_AS, &limit) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_getrlimit, RLIMIT_DATA, 8) == -1 && errno == EFAULT);
  CHECK(syscall(SYS_setrlimit, RLIMIT_DATA, 8) == -1 && errno == EFAULT);
  CHECK(syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, NULL) == 0);
  CHECK(syscall(SYS_prlimit64, -5, RLIMIT_AS, NULL, &limit) == -1 && errno == ESRCH);
  CHECK(syscall(SYS_getrlimit, 4711, &limit) == -1 && errno == EINVAL);
}

int main(void) {
  address_space();
  data();
  kinds();
  errors();
  // Threads still start under limits that leave room for their stacks only.
  set(RLIMIT_AS, 600 * MIB);
  for (int k = 0; k < 20; ++k) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
    pthread_join(thread, NULL);
  }
  const struct rlimit lowered = {700 * MIB, 700 * MIB};
  CHECK(setrlimit(RLIMIT_AS, &lowered) == 0);
  struct rlimit now;
  CHECK(getrlimit(RLIMIT_AS, &now) == 0);
  CHECK_EQUAL(now.rlim_max, 700 * MIB);
  char line[200];
  FILE* limits = fopen("/proc/self/limits", "r");
  int found = 0;
  while (fgets(line, sizeof line, limits))
    found += strcmp(line, "Max address space         734003200            734003200            bytes     \n") == 0;
  CHECK_EQUAL(found, 1);
  return finish();
}

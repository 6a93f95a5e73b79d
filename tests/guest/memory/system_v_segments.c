// System V shared memory: attached, detached, attached again elsewhere; code in it that is replaced by another segment at the same
// address.
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "../guest.h"

enum { kBytes = 3 * 4096 };

static int make_segment(void) {
  const int id = shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0700);
  CHECK(id >= 0);
  return id;
}

// mov eax, value; ret
static void put_function(unsigned char* at, uint32_t value) {
  at[0] = 0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
}

static uint32_t call(void* code) { return ((uint32_t(*)(void))code)(); }

static void data(void) {
  const int id = make_segment();
  char* first = shmat(id, NULL, 0);
  CHECK(first != (void*)-1);
  strcpy(first + 5000, "shared");
  char* second = shmat(id, NULL, SHM_RDONLY);
  CHECK(second != (void*)-1 && second != first);
  CHECK(strcmp(second + 5000, "shared") == 0);
  CHECK_EQUAL(shmctl(id, IPC_RMID, NULL), 0);
  CHECK_EQUAL(shmdt(first), 0);
  CHECK_EQUAL(shmdt(first), -1);
  CHECK(strcmp(second + 5000, "shared") == 0);
  second = mremap(second, kBytes, 4096, 0);   // smaller
  CHECK(second != MAP_FAILED);
  CHECK_EQUAL(shmdt(second), 0);
}

static void code(void) {
  const int one = make_segment(), two = make_segment();
  unsigned char* at = shmat(one, NULL, SHM_EXEC);
  CHECK(at != (void*)-1);
  put_function(at + 4096, 1);
  CHECK_EQUAL(call(at + 4096), 1);
  put_function(at + 4096, 2);
  CHECK_EQUAL(call(at + 4096), 2);
  CHECK_EQUAL(shmdt(at), 0);
  CHECK(shmat(two, at, SHM_EXEC) == at);
  put_function(at + 4096, 3);
  CHECK_EQUAL(call(at + 4096), 3);
  CHECK(shmat(one, at, SHM_EXEC | SHM_REMAP) == at);
  CHECK_EQUAL(call(at + 4096), 2);
  CHECK_EQUAL(shmdt(at), 0);
  CHECK_EQUAL(shmctl(one, IPC_RMID, NULL), 0);
  CHECK_EQUAL(shmctl(two, IPC_RMID, NULL), 0);
}

int main(void) {
  data();
  code();
  for (int k = 0; k < 100; ++k) data();
  return finish();
}

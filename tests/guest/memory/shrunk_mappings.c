// mremap that leaves less of a range of several mappings: each that stays keeps its own permissions.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };

static sigjmp_buf back;

static void tell(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  siglongjmp(back, info->si_code);
}

// mov eax, value; ret
static void write_function(char* at, int value) {
  const unsigned char code[] = {0xb8, (unsigned char)value, 0, 0, 0, 0xc3};
  memcpy(at, code, sizeof code);
}

static char* pages(int last) {
  char* const at = mmap(NULL, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(at != MAP_FAILED);
  for (int k = 0; k < 4; ++k) write_function(at + k * kPage, k);
  CHECK(mprotect(at, kPage, PROT_READ | PROT_EXEC) == 0 && mprotect(at + kPage, 3 * kPage, last) == 0);
  return at;
}

int main(void) {
  const struct sigaction telling = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &telling, NULL) == 0);
  char* at = pages(PROT_READ | PROT_WRITE | PROT_EXEC);
  int (*const second)(void) = (int (*)(void))(at + kPage);
  CHECK(mremap(at, 4 * kPage, 2 * kPage, 0) == at);
  for (int k = 10; k < 20; ++k) {
    write_function(at + kPage, k);
    CHECK_EQUAL(second(), k);
  }
  CHECK_EQUAL(((int (*)(void))at)(), 0);

  at = pages(PROT_READ | PROT_WRITE);
  CHECK(mremap(at, 4 * kPage, 2 * kPage, 0) == at);
  int code = sigsetjmp(back, 1);
  if (code == 0) ((int (*)(void))(at + kPage))();
  printf("not executable: code %d\n", code);
  code = sigsetjmp(back, 1);
  if (code == 0) ((int (*)(void))(at + 2 * kPage))();
  printf("not mapped: code %d\n", code);
  return finish();
}

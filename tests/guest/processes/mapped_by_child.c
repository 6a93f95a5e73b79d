// A child of vfork maps code, or makes memory executable; its parent, whose memory it is too, calls that.
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };
typedef int (*Function)(void);
static const uint8_t kReturn42[] = {0xb8, 42, 0, 0, 0, 0xc3};
static void* volatile g_code;

static void wait_for(pid_t child) {
  int status;
  CHECK(child > 0);
  while (waitpid(child, &status, 0) < 0) continue;
  CHECK_EQUAL(status, 0);
}

static void call(void) { CHECK_EQUAL(((Function)(uintptr_t)g_code)(), 42); }

static void maps(int protection) {
  const pid_t child = vfork();
  if (child == 0) {
    g_code = mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g_code == MAP_FAILED) _exit(1);
    memcpy(g_code, kReturn42, sizeof kReturn42);
    _exit(mprotect(g_code, kPage, protection) != 0);
  }
  wait_for(child);
  call();
  CHECK(munmap(g_code, kPage) == 0);
}

static void makes_executable(void) {
  g_code = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(g_code != MAP_FAILED);
  memcpy(g_code, kReturn42, sizeof kReturn42);
  const pid_t child = vfork();
  if (child == 0) _exit(mprotect(g_code, kPage, PROT_READ | PROT_EXEC) != 0);
  wait_for(child);
  call();
  CHECK(munmap(g_code, kPage) == 0);
}

int main(void) {
  maps(PROT_READ | PROT_EXEC);
  maps(PROT_READ | PROT_WRITE | PROT_EXEC);
  makes_executable();
  return finish();
}

// clone3's argument structure: sizes older and newer than the engine's own, bytes beyond it, stacks that are none.
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest.h"

static unsigned char* page;   // the next one is not there

static long try(void* arguments, size_t size) {
  const long result = syscall(SYS_clone3, arguments, size);
  if (result == 0) _exit(7);
  if (result < 0) return -errno;
  int status;
  CHECK_EQUAL(waitpid((pid_t)result, &status, 0), result);
  CHECK_EQUAL(WEXITSTATUS(status), 7);
  return 0;
}

// A structure of `size` bytes, of which the last `gap` cannot be read.
static unsigned char* tail(size_t size, size_t gap) {
  memset(page, 0, 4096);
  struct clone_args* a = (void*)(page + 4096 + gap - size);
  a->exit_signal = SIGCHLD;
  return (void*)a;
}

int main(void) {
  page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED && munmap(page + 4096, 4096) == 0);
  CHECK_EQUAL(try(tail(64, 0), 64), 0);
  CHECK_EQUAL(try(tail(80, 0), 80), 0);
  CHECK_EQUAL(try(tail(88, 0), 88), 0);
  CHECK_EQUAL(try(tail(4096, 0), 4096), 0);
  CHECK_EQUAL(try(tail(56, 0), 56), -EINVAL);
  CHECK_EQUAL(try(tail(64, 0), 5000), -E2BIG);
  CHECK_EQUAL(try(NULL, 64), -EFAULT);
  CHECK_EQUAL(try(tail(88, 8), 88), -EFAULT);
  CHECK_EQUAL(try(tail(200, 8), 200), -EFAULT);
  CHECK_EQUAL(try(tail(89, 1), 89), -EFAULT);
  CHECK_EQUAL(try(tail(97, 1), 97), -EFAULT);
  unsigned char* a = tail(200, 8);
  a[190] = 1;
  CHECK_EQUAL(try(a, 200), -E2BIG);    // seen before the hole behind it
  struct clone_args* stack = (void*)tail(88, 0);
  stack->stack_size = 4096;
  CHECK_EQUAL(try(stack, 88), -EINVAL);
  stack->stack_size = 0;
  stack->stack = (uint64_t)page;
  CHECK_EQUAL(try(stack, 88), -EINVAL);
  stack->stack = ~0ull << 20;
  stack->stack_size = 4096;
  CHECK_EQUAL(try(stack, 88), -EINVAL);
  return finish();
}

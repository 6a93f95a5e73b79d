// build: -pthread
// Lengths and numbers of vectors that no call takes: how much a call is to give, which simrun asks for threads' sake, has an end.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/guest/guest.h"

static void* wait_for_end(void* descriptor) {
  char c;
  CHECK(read((int)(long)descriptor, &c, 1) == 1);
  return NULL;
}

int main(void) {
  const size_t bytes = 64ul << 30;
  struct iovec* const vectors = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(vectors != MAP_FAILED);
  int ends[2], pair[2];
  CHECK(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, wait_for_end, (void*)(long)ends[0]) == 0);
  const int number = (int)(bytes / sizeof *vectors > 0x7fffffff ? 0x7fffffff : bytes / sizeof *vectors);
  errno = 0;
  CHECK(writev(ends[1], vectors, number) == -1 && errno == EINVAL);
  const struct msghdr message = {.msg_iov = vectors, .msg_iovlen = bytes / sizeof *vectors};
  errno = 0;
  CHECK(sendmsg(pair[0], &message, 0) == -1 && errno == EMSGSIZE);
  for (size_t length = -1ul; length != -4ul; --length) {
    errno = 0;
    CHECK(write(ends[1], "x", length) == -1 && errno == EFAULT);
  }
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(pthread_join(other, NULL) == 0);
  return finish();
}

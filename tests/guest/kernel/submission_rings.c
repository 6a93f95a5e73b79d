// io_uring by its system calls alone: files, pipes, time-outs and polls, buffers, and a read that writes code which has been executed.
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tests/guest/guest.h"

struct ring {
  int fd;
  unsigned *head, *tail, *mask, *array, *done_head, *done_tail, *done_mask;
  struct io_uring_sqe* entries;
  struct io_uring_cqe* results;
};
static struct ring ring;

static int set_up(void) {
  struct io_uring_params p = {0};
  ring.fd = (int)syscall(SYS_io_uring_setup, 8, &p);
  if (ring.fd < 0) return 0;
  const size_t size = p.sq_off.array + p.sq_entries * sizeof(unsigned), done = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
  char* at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQ_RING);
  char* other = mmap(NULL, done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_CQ_RING);
  ring.entries = mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQES);
  CHECK(at != MAP_FAILED && other != MAP_FAILED && ring.entries != MAP_FAILED);
  ring.head = (unsigned*)(at + p.sq_off.head);
  ring.tail = (unsigned*)(at + p.sq_off.tail);
  ring.mask = (unsigned*)(at + p.sq_off.ring_mask);
  ring.array = (unsigned*)(at + p.sq_off.array);
  ring.done_head = (unsigned*)(other + p.cq_off.head);
  ring.done_tail = (unsigned*)(other + p.cq_off.tail);
  ring.done_mask = (unsigned*)(other + p.cq_off.ring_mask);
  ring.results = (struct io_uring_cqe*)(other + p.cq_off.cqes);
  return 1;
}

static struct io_uring_sqe* next_entry(int operation, int fd, uint64_t name) {
  const unsigned tail = *ring.tail, index = tail & *ring.mask;
  struct io_uring_sqe* entry = &ring.entries[index];
  memset(entry, 0, sizeof *entry);
  entry->opcode = (uint8_t)operation;
  entry->fd = fd;
  entry->user_data = name;
  ring.array[index] = index;
  __atomic_store_n(ring.tail, tail + 1, __ATOMIC_RELEASE);
  return entry;
}

static void submit(unsigned count, unsigned wait) {
  while (count > 0) {
    const long n = syscall(SYS_io_uring_enter, ring.fd, count, wait, IORING_ENTER_GETEVENTS, NULL, 0);
    if (n < 0) CHECK_EQUAL(errno, EINTR);
    if (n > 0) count -= (unsigned)n;
  }
}

struct result {
  uint64_t name;
  int value;
};

static struct result next_result(void) {
  while (*ring.done_head == __atomic_load_n(ring.done_tail, __ATOMIC_ACQUIRE))
    syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  const struct io_uring_cqe* found = &ring.results[*ring.done_head & *ring.done_mask];
  const struct result result = {found->user_data, found->res};
  __atomic_store_n(ring.done_head, *ring.done_head + 1, __ATOMIC_RELEASE);
  return result;
}

static int only_result(uint64_t name) {
  submit(1, 1);
  const struct result result = next_result();
  CHECK_EQUAL(result.name, name);
  return result.value;
}

static void transfer(int operation, int fd, void* at, unsigned size, uint64_t offset, uint64_t name) {
  struct io_uring_sqe* entry = next_entry(operation, fd, name);
  entry->addr = (uintptr_t)at;
  entry->len = size;
  entry->off = offset;
}

int main(void) {
  if (!set_up()) {
    printf("io_uring: %s\n", strerror(errno));   // the same natively
    return finish();
  }
  for (uint64_t name = 1; name < 30; ++name) {
    next_entry(IORING_OP_NOP, -1, name);
    CHECK_EQUAL(only_result(name), 0);
  }
  const int file = memfd_create("f", 0);
  char text[32] = "";
  transfer(IORING_OP_WRITE, file, "written by a ring", 17, 0, 40);
  CHECK_EQUAL(only_result(40), 17);
  transfer(IORING_OP_READ, file, text, sizeof text, 8, 41);
  CHECK_EQUAL(only_result(41), 9);
  CHECK(strcmp(text, "by a ring") == 0);
  struct iovec parts[2] = {{text, 4}, {text + 16, 3}};
  next_entry(IORING_OP_READV, file, 42);
  ring.entries[(*ring.tail - 1) & *ring.mask].addr = (uintptr_t)parts;
  ring.entries[(*ring.tail - 1) & *ring.mask].len = 2;
  CHECK(only_result(42) == 7 && memcmp(text, "writ", 4) == 0 && memcmp(text + 16, "ten", 3) == 0);
  transfer(IORING_OP_READ, file, (void*)8, 16, 0, 43);
  CHECK_EQUAL(only_result(43), -EFAULT);
  transfer(IORING_OP_READ, 999, text, 16, 0, 44);
  CHECK_EQUAL(only_result(44), -EBADF);

  int ends[2];
  CHECK(pipe(ends) == 0);
  next_entry(IORING_OP_POLL_ADD, ends[0], 50)->poll32_events = POLLIN;
  submit(1, 0);
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(next_result().value & POLLIN);
  const struct __kernel_timespec soon = {0, 2000000};
  transfer(IORING_OP_TIMEOUT, -1, (void*)&soon, 1, 0, 51);
  CHECK_EQUAL(only_result(51), -ETIME);

  // Code that runs, is written over by the kernel, and runs again; forwarding must not go on with the old.
  unsigned char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char bytes[] = {0xb8, 0, 0, 0, 0, 0xc3};
  const int source = memfd_create("code", 0);
  for (int k = 0; k < 100; ++k) {
    bytes[1] = (unsigned char)k;
    CHECK(pwrite(source, bytes, sizeof bytes, 0) == sizeof bytes);
    transfer(IORING_OP_READ, source, code, sizeof bytes, 0, 60);
    CHECK_EQUAL(only_result(60), sizeof bytes);
    CHECK_EQUAL(((int (*)(void))(uintptr_t)code)(), k);
  }
  return finish();
}

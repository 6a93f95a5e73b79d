// build: -pthread
// Every descriptor closed, every number taken, none left: the program sees its own descriptors only, and what needs one meanwhile
// (new code, threads, files of /proc, children) goes on.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static int listed(void) {
  DIR* directory = opendir("/proc/self/fd");
  int count = 0;
  if (directory == NULL) return -errno;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) count += entry->d_name[0] != '.';
  closedir(directory);
  return count - 1;  // without its own
}

static int open_ones(int highest) {
  int count = 0;
  for (int fd = 0; fd <= highest; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static void* nothing(void* argument) { return argument; }

// Things for which an engine might like to have a descriptor.
static void busy(int round) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
  unsigned char* code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int k = 0; k < 1000; ++k) {
    const unsigned char bytes[] = {0xb8, (unsigned char)round, (unsigned char)k, 0, 0, 0xc3};
    memcpy(code + 8 * k, bytes, sizeof bytes);
    CHECK_EQUAL(((int (*)(void))(uintptr_t)(code + 8 * k))(), ((k & 255) << 8) + round);
  }
  CHECK(munmap(code, 8192) == 0);
  const pid_t child = fork();
  if (child == 0) _exit(open_ones(2000) & 127);
  int status;
  const int mine = open_ones(2000) & 127;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_EQUAL(WEXITSTATUS(status), mine);
}

int main(void) {
  struct stat kept;
  CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);   // what whoever started it left open
  const int before = open_ones(2000);
  CHECK_EQUAL(listed(), before);
  const int first = dup(2);
  CHECK_EQUAL(first, before);  // 0, 1, 2 and nothing else
  CHECK(fcntl(2, F_DUPFD, 1500) == 1500 && dup2(2, 1900) == 1900 && dup3(2, 1901, O_CLOEXEC) == 1901);
  CHECK(syscall(SYS_close_range, 1901, ~0U, 0) == 0 && fcntl(1901, F_GETFD) == -1 && fcntl(1900, F_GETFD) == 0);
  CHECK(syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == 0 && fcntl(1900, F_GETFD) == FD_CLOEXEC);
  CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
  CHECK(syscall(SYS_close_range, 9, 3, 0) == -1 && errno == EINVAL);
  CHECK_EQUAL(open_ones(2000), 3);
  busy(1);
  for (int fd = 3; fd < 1024; ++fd) CHECK(close(fd) == -1 && errno == EBADF);
  busy(2);
  CHECK_EQUAL(listed(), 3);
  CHECK(syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_UNSHARE) == 0);

  struct rlimit limit = {3, 3}, old;
  CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0 && old.rlim_cur <= old.rlim_max);
  limit.rlim_max = old.rlim_max;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(dup(0) == -1 && errno == EMFILE);
  CHECK(open("/proc/self/maps", O_RDONLY) == -1 && errno == EMFILE);
  CHECK(pipe((int[2]){0, 0}) == -1 && errno == EMFILE);
  busy(3);
  CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);

  // One number left: a file of /proc takes it, and gives it back.
  limit = old;
  limit.rlim_cur = 8;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  while (dup(0) >= 0) continue;
  CHECK(errno == EMFILE && close(5) == 0);
  for (int i = 0; i < 3; ++i) {
    char text[64];
    const int fd = open("/proc/self/maps", O_RDONLY);
    CHECK_EQUAL(fd, 5);
    CHECK(read(fd, text, sizeof text) == sizeof text && fstat(fd, &kept) == 0 && S_ISREG(kept.st_mode) && close(fd) == 0);
  }
  CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);

  // Everything closed, the three first too.
  const int output = dup2(1, 900);
  CHECK(syscall(SYS_close_range, 0, 899, 0) == 0 && open_ones(2000) == 1);
  busy(4);
  CHECK(dup2(output, 1) == 1 && dup2(output, 0) == 0 && dup2(output, 2) == 2);
  return finish();
}

// build: -pthread
// /proc/self/maps, status, stat, statm and limits say what they say natively: sizes that agree, the program's own signals, no
// mapping that the program does not have, the facts that are those of the path; with lowest descriptor numbers, and with no descriptor to spare.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static char text[1 << 20];

static const char* read_file(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0);
  size_t size = 0;
  for (ssize_t n; (n = read(fd, text + size, sizeof text - 1 - size)) > 0;) size += (size_t)n;
  text[size] = 0;
  CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
  close(fd);
  return text;
}

static unsigned long long field(const char* key, int base) {
  const char* at = strstr(read_file("/proc/self/status"), key);
  CHECK(at != NULL);
  return strtoull(at + strlen(key), NULL, base);
}

static unsigned long mapped_kib(int* found, void* wanted) {
  unsigned long total = 0;
  *found = 0;
  for (char* line = strtok((char*)read_file("/proc/self/maps"), "\n"); line; line = strtok(NULL, "\n")) {
    unsigned long from, to;
    CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2 && from < to);
    if (strstr(line, "[vsyscall]")) continue;
    total += (to - from) >> 10;
    if (from <= (unsigned long)wanted && (unsigned long)wanted < to) ++*found;
    CHECK(strstr(line, "memfd") == NULL && strstr(line, "/dev/zero") == NULL);
  }
  return total;
}

static void handler(int number) { (void)number; }

static void sizes(void) {
  char* page = mmap(NULL, 3 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int found;
  const unsigned long total = mapped_kib(&found, page + (1 << 20));
  CHECK_EQUAL(found, 1);
  CHECK_EQUAL(total, field("VmSize:", 10));
  CHECK_EQUAL(total / 4, strtoul(read_file("/proc/thread-self/statm"), NULL, 10));
  unsigned long long size = 0;
  const char* at = strrchr(read_file("/proc/self/stat"), ')') + 1;
  for (int k = 3; k < 23; ++k) at = strchr(at + 1, ' ');
  size = strtoull(at, NULL, 10);
  CHECK_EQUAL(total, size >> 10);
  munmap(page, 3 << 20);
  mapped_kib(&found, page + (1 << 20));
  CHECK_EQUAL(found, 0);
}

static void signals(void) {
  signal(SIGUSR1, handler);
  signal(SIGSEGV, handler);
  signal(SIGFPE, SIG_IGN);
  CHECK_EQUAL(field("SigCgt:", 16) & ~(1ull << (SIGPROF - 1)) & ~(1ull << (SIGALRM - 1)), 1ull << (SIGUSR1 - 1) | 1ull << (SIGSEGV - 1));
  CHECK_EQUAL(field("SigIgn:", 16), 1ull << (SIGFPE - 1));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_SETMASK, &set, NULL);
  CHECK_EQUAL(field("SigBlk:", 16), 1ull << (SIGTERM - 1));
  raise(SIGTERM);
  CHECK_EQUAL(field("SigPnd:", 16), 1ull << (SIGTERM - 1));
  signal(SIGTERM, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
  sigemptyset(&set);
  sigprocmask(SIG_SETMASK, &set, NULL);
  CHECK_EQUAL(field("Threads:", 10), 1);
}

static void at_first_read(void) {
  const int fd = open("/proc/self/maps", O_RDONLY);
  CHECK_EQUAL(fd, 3);
  char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char wanted[32];
  snprintf(wanted, sizeof wanted, "%lx-", (unsigned long)page);
  // The mapping may have joined a neighbour: then the page lies within one.
  const int copy = dup(fd);
  CHECK(read(copy, text, 10) == 10);
  const ssize_t n = read(fd, text + 10, sizeof text - 11);   // they have one position
  CHECK(n > 0 && lseek(copy, 0, SEEK_CUR) == 10 + n && close(copy) == 0);
  text[10 + n] = 0;
  int found = 0;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    unsigned long from, to;
    CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2);
    found += from <= (unsigned long)page && (unsigned long)page < to;
  }
  CHECK_EQUAL(found, 1);
  close(fd);
  CHECK_EQUAL(open("/proc/self/status", O_RDONLY), 3);
  close(3);
}

static int same_file(const struct stat* a, const struct stat* b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode && a->st_nlink == b->st_nlink && a->st_size == 0 &&
         a->st_blocks == 0 && a->st_uid == b->st_uid;
}

// `cp` compares what it opens with what it has seen before.
static void facts(void) {
  const char* const names[] = {"maps", "smaps", "status", "stat", "statm", "limits", "personality"};
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
    char path[64], link[64], target[64], real[64];
    snprintf(path, sizeof path, "/proc/self/%s", names[k]);
    struct stat by_path, by_descriptor;
    struct statx extended;
    struct statfs file_system;
    CHECK(stat(path, &by_path) == 0);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && dup2(fd, 60) == 60);
    CHECK(lseek(fd, 0, SEEK_END) == -1 && errno == EINVAL);
    for (int times = 0; times < 2; ++times, fd = 60) {
      CHECK(fstat(fd, &by_descriptor) == 0 && same_file(&by_descriptor, &by_path));
      CHECK(fstatat(fd, "", &by_descriptor, AT_EMPTY_PATH) == 0 && same_file(&by_descriptor, &by_path));
      CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE, &extended) == 0 && extended.stx_ino == by_path.st_ino && extended.stx_size == 0);
      CHECK(extended.stx_mode == by_path.st_mode && makedev(extended.stx_dev_major, extended.stx_dev_minor) == by_path.st_dev);
      CHECK(fstatfs(fd, &file_system) == 0 && file_system.f_type == PROC_SUPER_MAGIC);
      snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
      CHECK(stat(link, &by_descriptor) == 0 && same_file(&by_descriptor, &by_path));
      const ssize_t length = readlink(link, target, sizeof target);
      const int real_length = snprintf(real, sizeof real, "/proc/%d/%s", getpid(), names[k]);
      CHECK(length == real_length && memcmp(target, real, (size_t)length) == 0);
      CHECK(readlink(link, target, 7) == 7 && memcmp(target, real, 7) == 0);
      if (times == 0) CHECK(read(fd, text, 1) == 1 && close(fd) == 0);
    }
    close(60);
  }
  const int other = memfd_create("maps", 0);
  CHECK(write(other, "abc", 3) == 3 && lseek(other, 0, SEEK_END) == 3);
  struct stat own;
  CHECK(fstat(other, &own) == 0 && own.st_size == 3);
  close(other);
}

static void without_descriptors(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 8;
  setrlimit(RLIMIT_NOFILE, &limit);
  int last = 0;
  for (int fd; (fd = dup(1)) >= 0;) last = fd;
  CHECK_EQUAL(last, 7);
  close(5);
  CHECK_EQUAL(open("/proc/self/maps", O_RDONLY), 5);
  ssize_t n = 0;
  for (ssize_t one; (one = read(5, text + n, sizeof text - 1 - (size_t)n)) > 0;) n += one;
  text[n] = 0;
  CHECK(strstr(text, "[stack]") != NULL && strstr(text, "memfd") == NULL);
  for (int fd = 3; fd < 8; ++fd) close(fd);
}

static void* of_thread(void* unused) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/maps", gettid());
  const size_t size = strlen(read_file(path));
  CHECK(size != 0 && strstr(text, "simrun") == NULL);
  return unused;
}

static void of_threads(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, of_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

// A user who may have no more processes.
static void without_processes(void) {
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit none = {0, 0};
    CHECK(getuid() != 0 || syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
    CHECK(setrlimit(RLIMIT_NPROC, &none) == 0 && fork() == -1);
    sizes();
    signals();
    _exit(7);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 7 << 8);
}

int main(void) {
  sizes();
  signals();
  at_first_read();
  facts();
  without_descriptors();
  without_processes();
  of_threads();
  return finish();
}

// build: -static -pthread
// Programs that are executed in another root, without /proc or any library, and by a user who may read less: they run there as anywhere.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile sig_atomic_t signals;

static void handler(int number) { signals += number == SIGUSR1; }

static void* nothing(void* argument) { return argument; }

static int in_another_root(const char* argument) {
  CHECK(strcmp(argument, "an argument") == 0 && access("/proc", F_OK) == -1);
  signal(SIGUSR1, handler);
  CHECK(raise(SIGUSR1) == 0 && signals == 1);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
  uint8_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint8_t bytes[] = {0xb8, 77, 0, 0, 0, 0xc3};
  memcpy(code, bytes, sizeof bytes);
  CHECK(((int (*)(void))(uintptr_t)code)() == 77);
  const pid_t child = fork();
  if (child == 0) _exit(9);
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
  CHECK(dup(0) == 3);   // no descriptor is left behind
  return 7;
}

// A copy of this program in `folder`.
static void copy_to(const char* folder) {
  char path[64];
  snprintf(path, sizeof path, "%s/guest", folder);
  const int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
  struct stat facts;
  CHECK(from >= 0 && to >= 0 && fstat(from, &facts) == 0);
  for (off_t left = facts.st_size; left > 0;) {
    const ssize_t n = sendfile(to, from, NULL, (size_t)left);
    CHECK(n > 0);
    left -= n;
  }
  CHECK(close(from) == 0 && close(to) == 0 && chmod(path, 0755) == 0);
}

static void execute(const char* folder, uid_t user) {
  const pid_t child = fork();
  if (child == 0) {
    if (chroot(folder) != 0) _exit(7);   // without the privilege: nothing to see
    CHECK(chdir("/") == 0);
    if (user != 0) CHECK(setgid(user) == 0 && setuid(user) == 0);
    execl("/guest", "guest", "an argument", NULL);
    _exit(1);
  }
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int count, char** arguments) {
  if (count == 2) return in_another_root(arguments[1]);
  char folder[] = "XXXXXX";
  CHECK(mkdtemp(folder) != NULL && chmod(folder, 0755) == 0);
  copy_to(folder);
  execute(folder, 0);
  execute(folder, 65534);
  return finish();
}

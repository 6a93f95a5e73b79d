// vfork and exec, posix_spawn that works and that fails, system, popen, a pipeline by hand, exec errors.
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

extern char** environ;

static void by_vfork(void) {
  for (volatile int i = 0; i < 5; ++i) {
    int status;
    volatile int shared = 0;
    const pid_t pid = vfork();
    if (pid == 0) {
      shared = 7;
      if (i == 0) _exit(3);
      execl("/bin/sh", "sh", "-c", i == 4 ? "kill -9 $$" : "exit 5", (char*)NULL);
      _exit(127);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && shared == 7);
    CHECK_EQUAL(status, i == 0 ? 3 << 8 : i == 4 ? 9 : 5 << 8);
  }
}

static void by_spawn(void) {
  pid_t pid;
  int status;
  char* good[] = {"echo", "spawned", NULL};
  CHECK(posix_spawnp(&pid, "echo", NULL, NULL, good, environ) == 0);
  CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  CHECK_EQUAL(posix_spawn(&pid, "/no/such/program", NULL, NULL, good, environ), ENOENT);
  CHECK_EQUAL(posix_spawn(&pid, "/etc/passwd", NULL, NULL, good, environ), EACCES);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "spawned.txt", 0x41, 0644);  // O_WRONLY | O_CREAT
  CHECK(posix_spawnp(&pid, "echo", &actions, NULL, good, environ) == 0 && waitpid(pid, &status, 0) == pid);
  char text[20] = {0};
  FILE* file = fopen("spawned.txt", "r");
  CHECK(file != NULL && fgets(text, sizeof text, file) && strcmp(text, "spawned\n") == 0);
}

static void by_shell(void) {
  CHECK_EQUAL(system("exit 17"), 17 << 8);
  CHECK_EQUAL(system("echo from the shell; true | cat"), 0);
  CHECK(system(NULL) != 0);
  char line[100];
  FILE* out = popen("echo one; echo two | tr a-z A-Z", "r");
  CHECK(out != NULL && fgets(line, sizeof line, out) && strcmp(line, "one\n") == 0);
  CHECK(fgets(line, sizeof line, out) && strcmp(line, "TWO\n") == 0 && pclose(out) == 0);
  FILE* in = popen("sort -n", "w");
  CHECK(in != NULL);
  for (int i = 5; i; --i) fprintf(in, "%d\n", i);
  CHECK(pclose(in) == 0);
}

static void by_hand(void) {
  int first[2];
  CHECK(pipe(first) == 0);
  fflush(stdout);
  const pid_t producer = fork();
  if (producer == 0) {
    dup2(first[1], 1);
    close(first[0]);
    close(first[1]);
    execlp("seq", "seq", "1000", (char*)NULL);
    _exit(127);
  }
  const pid_t consumer = fork();
  if (consumer == 0) {
    dup2(first[0], 0);
    close(first[0]);
    close(first[1]);
    execlp("tail", "tail", "-1", (char*)NULL);
    _exit(127);
  }
  close(first[0]);
  close(first[1]);
  int status;
  CHECK(waitpid(producer, &status, 0) == producer && status == 0);
  CHECK(waitpid(consumer, &status, 0) == consumer && status == 0);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  by_vfork();
  puts("vfork");
  by_spawn();
  puts("spawn");
  by_shell();
  puts("shell");
  by_hand();
  puts("pipeline");
  errno = 0;
  CHECK(execl("/no/such/program", "x", (char*)NULL) == -1 && errno == ENOENT);
  return finish();
}

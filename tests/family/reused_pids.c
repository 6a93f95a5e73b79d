// Children with the same numbers as some that ended more than five seconds ago. Status 77: the kernel is not to be told which number is next.
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kChildren = 300 };

static int fork_all(pid_t* pids) {
  const int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
  if (last < 0 || write(last, "2000", 4) != 4) return 77;
  close(last);
  for (int k = 0; k < kChildren; ++k) {
    pids[k] = fork();
    if (pids[k] == 0) _exit(0);
    if (pids[k] < 0 || waitpid(pids[k], NULL, 0) != pids[k]) return 1;
  }
  return 0;
}

int main(void) {
  static pid_t before[kChildren], now[kChildren];
  int same = 0, status = fork_all(before);
  if (status == 0) sleep(6), status = fork_all(now);
  if (status != 0) return status;
  for (int k = 0; k < kChildren; ++k)
    for (int i = 0; i < kChildren; ++i) same += now[k] == before[i];
  if (same < kChildren / 2) return 77;   // others made processes meanwhile
  puts("done");
  return 0;
}

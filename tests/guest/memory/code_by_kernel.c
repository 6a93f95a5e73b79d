// Code that the kernel changes on the program's behalf: reads and receptions into it, its file, /proc/self/mem, another process.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static sigjmp_buf back;
static int code_of_fault;

static void handler(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  code_of_fault = info->si_code;
  siglongjmp(back, 1);
}

// mov eax, value; ret
static void make(void* at, int value) {
  unsigned char code[6] = {0xb8, 0, 0, 0, 0, 0xc3};
  memcpy(code + 1, &value, 4);
  memcpy(at, code, 6);
}

static int call(void* code) { return sigsetjmp(back, 1) == 0 ? ((int (*)(void))code)() : -1; }

static void into_writable_code(void) {
  char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char made[6];
  struct iovec there[2] = {{code, 3}, {code + 3, 3}}, here = {made, 6};
  struct msghdr message = {.msg_iov = there, .msg_iovlen = 2};
  int pair[2];
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  for (int k = 0; k < 12; ++k) {
    make(made, k);
    if (k < 9) CHECK_EQUAL(write(pair[0], made, 6), 6);
    if (k < 3)
      CHECK_EQUAL(read(pair[1], code, 6), 6);
    else if (k < 6)
      CHECK_EQUAL(readv(pair[1], there, 2), 6);
    else if (k < 9)
      CHECK_EQUAL(recvmsg(pair[1], &message, 0), 6);
    else
      CHECK_EQUAL(process_vm_writev(getpid(), &here, 1, there, 2, 0), 6);
    CHECK_EQUAL(call(code), k);
  }
  for (int k = 20; k < 23; ++k) {
    const pid_t child = fork();
    if (child == 0) _exit(k);
    make(code, 0);
    CHECK_EQUAL(call(code), 0);
    CHECK_EQUAL(waitpid(child, (int*)(code + 1), 0), child);
    CHECK_EQUAL(call(code), k << 8);
  }
}

static void through_proc(void) {
  char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  make(code, 7);
  mprotect(code, 4096, PROT_READ | PROT_EXEC);
  CHECK_EQUAL(call(code), 7);
  const int memory = open("/proc/self/mem", O_RDWR);
  unsigned char made[6];
  const struct iovec here = {made, 6};
  for (int k = 30; k < 40; ++k) {
    make(made, k);
    if (k < 33) {
      CHECK_EQUAL(pwrite(memory, made, 6, (off_t)code), 6);
    } else if (k < 35) {
      CHECK_EQUAL(pwritev2(memory, &here, 1, (off_t)code, 0), 6);
    } else {
      CHECK_EQUAL(lseek(memory, (off_t)code, SEEK_SET), (off_t)code);
      CHECK_EQUAL(k < 37 ? pwritev2(memory, &here, 1, -1, 0) : write(memory, made, 6), 6);
    }
    CHECK_EQUAL(call(code), k);
  }
  close(memory);
}

static void through_the_file(int flags) {
  const int file = memfd_create("code", 0);
  unsigned char made[6];
  CHECK_EQUAL(ftruncate(file, 8192), 0);
  char* code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, flags, file, 0);
  for (int k = 40; k < 45; ++k) {
    make(made, k);
    CHECK_EQUAL(pwrite(file, made, 6, 0), 6);
    CHECK_EQUAL(call(code), k);
  }
  CHECK_EQUAL(ftruncate(file, 0), 0);
  CHECK_EQUAL(call(code), -1);
  CHECK_EQUAL(ftruncate(file, 8192), 0);
  make(made, 46);
  CHECK_EQUAL(pwrite(file, made, 6, 0), 6);
  CHECK_EQUAL(call(code), 46);
}

static void by_another_process(void) {
  const int file = memfd_create("code", 0);
  CHECK_EQUAL(ftruncate(file, 4096), 0);
  char* writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  char* code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  for (int k = 50; k < 53; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      make(writable, k);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    CHECK_EQUAL(call(code), k);
  }
}

static void without_permission(void) {
  char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  make(code, 60);
  CHECK_EQUAL(call(code), -1);
  CHECK_EQUAL(code_of_fault, SEGV_ACCERR);
  mprotect(code, 4096, PROT_NONE);
  CHECK_EQUAL(call(code), -1);
  CHECK_EQUAL(code_of_fault, SEGV_ACCERR);
  mprotect(code, 4096, PROT_EXEC);
  CHECK_EQUAL(call(code), 60);
  munmap(code, 4096);
  CHECK_EQUAL(call(code), -1);
  CHECK_EQUAL(code_of_fault, SEGV_MAPERR);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  into_writable_code();
  through_proc();
  through_the_file(MAP_SHARED);
  through_the_file(MAP_PRIVATE);
  by_another_process();
  without_permission();
  return finish();
}

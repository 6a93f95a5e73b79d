// build: -pthread
// Code in memory that stays writable and executable: executed often, so that an engine may rely on it, and then written to in every way that
// there is; by the program, by the kernel for it, by other threads and processes.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"
#include "tests/guest/written_code.h"

// Two functions on two pages, both often: what is quiet while the other runs, too.
static void stores(void) {
  uint8_t* code = pages(2);
  for (int round = 0; round < 6; ++round) {
    emit(code, round);
    run_often(code, round);
    emit(code + kPage, 100 + round);
    run_often(code + kPage, 100 + round);
    CHECK_EQUAL(call(code, 1), 1 + round);
    emit(code + 64, 200 + round);   // beside it
    CHECK_EQUAL(call(code + 64, 1), 201 + round);
    CHECK_EQUAL(call(code, 1), 1 + round);
  }
  munmap(code, 2 * kPage);
}

// One instruction, each of another kind, over the hot function.
static void kinds_of_stores(void) {
  uint8_t* code = pages(2);
  uint8_t from[64];
  for (int kind = 0; kind < 8; ++kind) {
    emit(code, 1);
    run_often(code, 1);
    emit(from, kind);
    uint64_t first;
    memcpy(&first, from, 8);
    first = (first & 0x00ffffffffffffff) | ((uint64_t)code[7] << 56);
    switch (kind) {
      case 0: asm volatile("rep movsb" : : "S"(from), "D"(code), "c"(7) : "memory"); break;
      case 1: asm volatile("movdqu %0, %%xmm0\n movdqu %%xmm0, %1" : : "m"(*(char(*)[16])from), "m"(*(char(*)[16])code) : "xmm0", "memory"); break;
      case 2: asm volatile("lock cmpxchgq %2, (%1)" : : "a"(*(uint64_t*)code), "r"(code), "r"(first) : "memory"); break;
      case 3: asm volatile("xchgq %0, (%1)" : : "r"(first), "r"(code) : "memory"); break;
      case 4: asm volatile("movnti %0, (%1)\n sfence" : : "r"(first), "r"(code) : "memory"); break;
      case 5: {   // push, by a stack pointer there: a signal's frame would not fit
        uint64_t old;
        const sigset_t all = all_signals();
        sigset_t before;
        CHECK(sigprocmask(SIG_SETMASK, &all, &before) == 0);
        asm volatile("movq %%rsp, %0\n leaq 136(%1), %%rsp\n subq $128, %%rsp\n pushq %2\n movq %0, %%rsp" : "=&r"(old) : "r"(code), "r"(first) : "memory");
        CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
        break;
      }
      case 6: asm volatile("addl %1, (%0)" : : "r"(code + 2), "r"(kind - 1) : "memory"); break;
      case 7: asm volatile("cld\n rep stosq" : : "a"(first), "D"(code), "c"(2 * kPage / 8) : "memory"); break;
    }
    CHECK_EQUAL(call(code, 10), 10 + kind);
  }
  munmap(code, 2 * kPage);
}

// movl n(%rip), %eax ; incl n(%rip) ; ret: data of its own beside it
static void data_beside(void) {
  uint8_t* code = pages(1);
  const uint8_t count[] = {0x8b, 0x05, 0x3a, 0, 0, 0, 0xff, 0x05, 0x34, 0, 0, 0, 0xc3};
  memcpy(code, count, sizeof count);
  for (int i = 0; i < 4 * kOften; ++i) CHECK_EQUAL(call(code, 0), i);
  munmap(code, kPage);
}

static void fill(int fd, int n) {
  uint8_t code[7];
  emit(code, n);
  CHECK(write(fd, code, sizeof code) == sizeof code);
}

// The kernel writes.
static void calls(void) {
  uint8_t* code = pages(1);
  int ends[2], sockets[2];
  CHECK(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  for (int kind = 0; kind < 7; ++kind) {
    emit(code, 50);
    run_often(code, 50);
    struct iovec here = {code, 7};
    struct msghdr message = {.msg_iov = &here, .msg_iovlen = 1};
    uint8_t other[7];
    emit(other, kind);
    struct iovec there = {other, 7};
    switch (kind) {
      case 0:
        fill(ends[1], kind);
        CHECK_EQUAL(read(ends[0], code, 7), 7);
        break;
      case 1:
        fill(ends[1], kind);
        CHECK_EQUAL(readv(ends[0], &here, 1), 7);
        break;
      case 2:
        fill(sockets[1], kind);
        CHECK_EQUAL(recv(sockets[0], code, 7, 0), 7);
        break;
      case 3:
        fill(sockets[1], kind);
        CHECK_EQUAL(recvmsg(sockets[0], &message, 0), 7);
        break;
      case 4: CHECK_EQUAL(process_vm_writev(getpid(), &there, 1, &here, 1, 0), 7); break;
      case 5: {
        const int file = open("/proc/self/mem", O_RDWR);
        if (file < 0 || pwrite(file, other, 7, (off_t)(uintptr_t)code) != 7) emit(code, kind);
        if (file >= 0) close(file);
        break;
      }
      case 6: {
        struct stat status;
        CHECK(fstat(ends[0], (struct stat*)(code + 1024)) == 0 && fstat(ends[0], &status) == 0);
        CHECK_EQUAL(((struct stat*)(code + 1024))->st_ino, status.st_ino);
        CHECK(getrandom(code + 512, 256, 0) == 256);
        emit(code, kind);
        break;
      }
    }
    CHECK_EQUAL(call(code, 10), 10 + kind);
  }
  for (int k = 0; k < 2; ++k) close(ends[k]), close(sockets[k]);
  munmap(code, kPage);
}

struct Reader {
  int fd;
  uint8_t* to;
};
static int g_reads;

static void* read_later(void* argument) {
  struct Reader* r = argument;
  __atomic_store_n(&g_reads, 1, __ATOMIC_RELEASE);
  ssize_t got;
  while ((got = read(r->fd, r->to, 7)) < 0 && errno == EINTR) continue;
  CHECK_EQUAL(got, 7);
  return NULL;
}

// The kernel writes when the page has become hot meanwhile.
static void call_meanwhile(void) {
  uint8_t* code = pages(1);
  int ends[2];
  CHECK(pipe(ends) == 0);
  emit(code, 3);
  struct Reader r = {ends[0], code + 256};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, &read_later, &r) == 0);
  while (!__atomic_load_n(&g_reads, __ATOMIC_ACQUIRE)) sched_yield();
  usleep(10000);
  run_often(code, 3);
  fill(ends[1], 4);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_EQUAL(call(code + 256, 1), 5);
  run_often(code, 3);
  close(ends[0]), close(ends[1]);
  munmap(code, kPage);
}

// Permissions and places change, and come back.
static void mappings(void) {
  uint8_t* code = pages(3);
  for (int round = 0; round < 4; ++round) {
    for (int k = 0; k < 3; ++k) emit(code + k * kPage, round + k), run_often(code + k * kPage, round + k);
    CHECK(mprotect(code + kPage, kPage, PROT_READ | PROT_EXEC) == 0);
    CHECK_EQUAL(call(code + kPage, 1), round + 2);
    CHECK(mprotect(code + kPage, kPage, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    emit(code + kPage, 77);
    CHECK_EQUAL(call(code + kPage, 1), 78);
    CHECK(madvise(code + 2 * kPage, kPage, MADV_DONTNEED) == 0);
    CHECK_EQUAL(code[2 * kPage], 0);
    emit(code + 2 * kPage, 9);
    CHECK_EQUAL(call(code + 2 * kPage, 1), 10);
    CHECK(mmap(code, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == code);
    emit(code, 20);
    run_often(code, 20);
  }
  uint8_t* moved = mremap(code, 3 * kPage, 3 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, pages(3));
  CHECK(moved != MAP_FAILED);
  CHECK_EQUAL(call(moved, 1), 21);
  emit(moved, 5);
  CHECK_EQUAL(call(moved, 1), 6);
  munmap(moved, 3 * kPage);
}

static void children(void) {
  uint8_t* code = pages(2);
  emit(code, 1), emit(code + kPage, 2);
  run_often(code, 1), run_often(code + kPage, 2);
  const pid_t forked = fork();
  if (forked == 0) {
    emit(code, 11);
    run_often(code, 11);
    emit(code, 12);
    _exit(call(code, 1) != 13 || call(code + kPage, 1) != 3);
  }
  emit(code, 21);
  CHECK_EQUAL(call(code, 1), 22);
  wait_for(forked);
  run_often(code, 21);
  const pid_t borrowing = vfork();
  if (borrowing == 0) {
    emit(code, 31);
    emit(code + kPage, 32);
    _exit(call(code, 1) != 32);
  }
  wait_for(borrowing);
  CHECK_EQUAL(call(code, 1), 32);
  CHECK_EQUAL(call(code + kPage, 1), 33);
  munmap(code, 2 * kPage);
}

static sigjmp_buf g_back;
static void* g_address;
static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  g_address = info->si_addr;
  siglongjmp(g_back, 1);
}
static volatile int g_handled;
static void on_signal(int number) { g_handled += number; }

// A handler's frame beside the code, and faults that are the program's own.
static void signals(void) {
  uint8_t* code = pages(16);
  emit(code, 1);
  run_often(code, 1);
  const stack_t there = {.ss_sp = code, .ss_size = 16 * kPage}, none = {.ss_flags = SS_DISABLE};
  emit(code + 15 * kPage, 2);
  run_often(code + 15 * kPage, 2);
  CHECK(sigaltstack(&there, NULL) == 0);
  struct sigaction action = {.sa_handler = &on_signal, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int k = 0; k < 3; ++k) {
    g_handled = 0;
    raise(SIGUSR1);
    CHECK_EQUAL(g_handled, SIGUSR1);
    emit(code + 15 * kPage, 2);
    run_often(code + 15 * kPage, 2);
  }
  CHECK(sigaltstack(&none, NULL) == 0);
  struct sigaction fault = {.sa_sigaction = &on_fault, .sa_flags = SA_SIGINFO}, before;
  CHECK(sigaction(SIGSEGV, &fault, &before) == 0);
  CHECK(mprotect(code + kPage, kPage, PROT_READ | PROT_EXEC) == 0);
  run_often(code, 1);
  if (sigsetjmp(g_back, 1) == 0) {
    *(volatile uint8_t*)(code + kPage + 5) = 1;
    CHECK(!"written");
  }
  CHECK(g_address == code + kPage + 5);
  emit(code, 8);   // no fault of the program's
  CHECK_EQUAL(call(code, 1), 9);
  CHECK(sigaction(SIGSEGV, &before, NULL) == 0);
  munmap(code, 16 * kPage);
}

// What the program reads of its memory.
static void permissions(void) {
  uint8_t* code = pages(3);
  emit(code + kPage, 1);
  run_often(code + kPage, 1);
  for (int round = 0; round < 2; ++round) {
    FILE* maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return;
    run_often(code + kPage, 1);   // between the open and the read
    char line[512];
    int found = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
      unsigned long from, to;
      char permission[5];
      if (sscanf(line, "%lx-%lx %4s", &from, &to, permission) != 3 || from > (uintptr_t)code || (uintptr_t)code >= to) continue;
      found = to >= (uintptr_t)code + 3 * kPage && strcmp(permission, "rwxp") == 0;
    }
    fclose(maps);
    CHECK(found);
  }
  munmap(code, 3 * kPage);
}

static uint8_t* g_shared_code;
static int g_newest, g_stop;

static void* run_shared(void* argument) {
  (void)argument;
  for (int last = 0; !__atomic_load_n(&g_stop, __ATOMIC_ACQUIRE);) {
    const int now = call(g_shared_code, 0);
    CHECK(now >= last);
    CHECK(now <= __atomic_load_n(&g_newest, __ATOMIC_ACQUIRE));
    last = now;
  }
  return NULL;
}

// One thread patches a number that others execute.
static void threads(void) {
  enum { kThreads = 3, kPatches = 200 };
  g_shared_code = pages(1) + 2;   // the number is aligned
  emit(g_shared_code, 0);
  pthread_t others[kThreads];
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_create(&others[k], NULL, &run_shared, NULL) == 0);
  for (int n = 1; n <= kPatches; ++n) {
    __atomic_store_n(&g_newest, n, __ATOMIC_SEQ_CST);
    __atomic_store_n((int*)(g_shared_code + 2), n, __ATOMIC_SEQ_CST);
    CHECK_EQUAL(call(g_shared_code, 1), n + 1);
    if (n % 20 == 0) run_often(g_shared_code, n);
  }
  __atomic_store_n(&g_stop, 1, __ATOMIC_RELEASE);
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_join(others[k], NULL) == 0);
  munmap(g_shared_code - 2, kPage);
}

// A function that goes from one page into the next, and a loop that writes what comes right behind it.
static void across_pages(void) {
  uint8_t* code = pages(2);
  uint8_t* at = code + kPage - 3;
  for (int round = 0; round < 4; ++round) {
    emit(at, round);
    run_often(at, round);
    code[kPage + 3] = 0xc3;   // the same again, by a store to the second page
    run_often(at, round);
    code[kPage - 1] = (uint8_t)(round + 40);   // the number's lowest byte, by one to the first
    CHECK_EQUAL(call(at, 1), round + 41);
  }
  // movl $n, 2+kNext(%rip) ; kNext: movl $0, %eax ; ret: the store changes the next instruction
  const uint8_t self[] = {0xc7, 0x05, 1, 0, 0, 0, 7, 0, 0, 0, 0xb8, 0, 0, 0, 0, 0xc3};
  memcpy(code, self, sizeof self);
  for (int i = 0; i < kOften; ++i) {
    const int n = i / 100;
    memcpy(code + 6, &n, 4);
    CHECK_EQUAL(call(code, 0), n);
  }
  munmap(code, 2 * kPage);
}

int main(void) {
  stores();
  kinds_of_stores();
  data_beside();
  calls();
  call_meanwhile();
  mappings();
  children();
  signals();
  permissions();
  threads();
  across_pages();
  return finish();
}

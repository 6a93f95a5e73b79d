// Code that may be fetched but not read: memory that is executable only, which has a protection key of its own where the processor has keys, and
// memory with a key that the thread takes all rights of. Also by another thread, behind a fault amid it, and when it becomes readable again.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/guest/guest.h"

static const unsigned char kReturn42[] = {0xb8, 42, 0, 0, 0, 0xc3};                       // mov eax, 42; ret
static const unsigned char kLoad[] = {0x31, 0xc0, 0xff, 0xc0, 0x8b, 0x07, 0xff, 0xc0, 0xc3};   // xor eax, eax; inc eax; mov eax, [rdi]; inc eax; ret
static const unsigned char kStamp[] = {0x0f, 0x31, 0xb8, 7, 0, 0, 0, 0xc3};                // rdtsc; mov eax, 7; ret

static unsigned char* code;

static void* call(void* p) {
  (void)p;
  return (void*)(long)((int (*)(void))code)();
}

static sigjmp_buf back;
static void* fault_pc;
static void on_fault(int s, siginfo_t* i, void* c) {
  (void)s, (void)i;
  fault_pc = (void*)((ucontext_t*)c)->uc_mcontext.gregs[REG_RIP];
  siglongjmp(back, 1);
}

static void run_all(void) {
  CHECK_EQUAL(((int (*)(void))code)(), 42);
  pthread_t thread;
  void* result;
  pthread_create(&thread, NULL, call, NULL);
  pthread_join(thread, &result);
  CHECK_EQUAL((long)result, 42);
  int value = 6;
  CHECK_EQUAL(((int (*)(int*))(code + 64))(&value), 7);
  if (sigsetjmp(back, 1) == 0) {
    ((int (*)(int*))(code + 64))((int*)8);
    CHECK(0);   // no fault
  }
  CHECK_EQUAL((long)fault_pc, (long)(code + 64 + 4));
  CHECK_EQUAL(((int (*)(void))(code + 128))(), 7);
  CHECK_EQUAL(((int (*)(void))(code + 4096 - 3))(), 42);
}

static void put(void) {
  memset(code, 0xcc, 8192);
  memcpy(code, kReturn42, sizeof kReturn42);
  memcpy(code + 64, kLoad, sizeof kLoad);
  memcpy(code + 128, kStamp, sizeof kStamp);
  memcpy(code + 4096 - 3, kReturn42, sizeof kReturn42);
}

int main(void) {
  struct sigaction action = {0};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  code = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  put();
  mprotect(code, 8192, PROT_EXEC);
  run_all();
  mprotect(code, 8192, PROT_READ | PROT_EXEC);
  run_all();
  mprotect(code, 8192, PROT_READ | PROT_WRITE);
  put();
  memcpy(code + 1, "\x2b", 1);
  mprotect(code, 4096, PROT_EXEC);
  mprotect(code + 4096, 4096, PROT_READ | PROT_EXEC);
  CHECK_EQUAL(((int (*)(void))code)(), 43);
  CHECK_EQUAL(((int (*)(void))(code + 4096 - 3))(), 42);
  const int key = pkey_alloc(0, 0);   // -1: this processor has none
  if (key > 0) {
    mprotect(code, 8192, PROT_READ | PROT_WRITE);
    put();
    pkey_mprotect(code, 8192, PROT_READ | PROT_EXEC, key);
    pkey_set(key, PKEY_DISABLE_ACCESS);
    run_all();
  }
  return finish();
}

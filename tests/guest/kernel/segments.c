// Local descriptor tables, segment bases and selectors, and instructions that tell of descriptors.
#include <asm/ldt.h>
#include <asm/prctl.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static uint32_t data[4] = {11, 22, 33, 44};
static sigjmp_buf back;
static volatile int fault;

static void caught(int number) {
  fault = number;
  siglongjmp(back, 1);
}

// Some virtual machines take entries and do not give them to the processor.
static int can_load(uint16_t selector) {
  if (sigsetjmp(back, 1) != 0) return 0;
  asm volatile("mov %0, %%es\n mov %1, %%es" : : "r"(selector), "r"((uint16_t)0));
  return 1;
}

static int set_entry(unsigned index, void* base, int present) {
  struct user_desc entry = {.entry_number = index, .base_addr = (unsigned)(uintptr_t)base, .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1, .useable = 1};
  if (!present) entry = (struct user_desc){.entry_number = index, .read_exec_only = 1, .seg_not_present = 1};
  return (int)syscall(SYS_modify_ldt, 1, &entry, sizeof entry);
}

// gs of this thread is the application's to use: its base becomes the descriptor's. Without FSGSBASE simrun does not follow it.
static void selector_in_gs(uint16_t selector, uint32_t* low) {
  uint16_t old, now;
  uint32_t value;
  asm volatile("mov %%gs, %0" : "=r"(old));
  asm volatile("mov %2, %%gs\n mov %%gs:8, %0\n mov %%gs, %1" : "=r"(value), "=r"(now) : "r"(selector) : "memory");
  CHECK(value == 33 && now == selector);
  uint64_t base;
  CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == (uintptr_t)low);
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, (uintptr_t)low + 4) == 0);
  asm volatile("mov %%gs:8, %0\n mov %%gs, %1" : "=r"(value), "=r"(now) : : "memory");
  CHECK(value == 44 && now == 0);
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 0x7ffffffff000) == -1 && errno == EPERM);
  asm volatile("mov %0, %%gs" : : "r"(old));
}

static void local_table(void) {
  uint32_t* low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  CHECK(low != MAP_FAILED);
  memcpy(low, data, sizeof data);
  if (set_entry(3, low, 1) != 0) {
    CHECK_EQUAL(errno, ENOSYS);
    return;
  }
  const uint16_t selector = 3 << 3 | 7;
  if (!can_load(selector)) return;
  if (has_fsgsbase()) selector_in_gs(selector, low);
  uint32_t limit = 0;
  char valid;
  asm volatile("lsl %2, %0\n setz %1" : "+r"(limit), "=q"(valid) : "r"((uint32_t)selector));
  CHECK(valid && limit == 0xffffffff);
  asm volatile("verw %1\n setz %0" : "=q"(valid) : "r"(selector));
  CHECK(valid);
  CHECK(set_entry(3, NULL, 0) == 0);
  asm volatile("verr %1\n setz %0" : "=q"(valid) : "r"(selector));
  CHECK(!valid);
  fault = 0;
  if (sigsetjmp(back, 1) == 0) asm volatile("mov %0, %%es" : : "r"(selector));
  CHECK_EQUAL(fault, SIGSEGV);
  char table[256];
  CHECK(syscall(SYS_modify_ldt, 0, table, sizeof table) >= 0);
  CHECK(munmap(low, 4096) == 0);
}

static volatile int loaded, taken;

static void* takes_away(void* nothing) {
  while (!loaded) continue;
  CHECK(set_entry(3, NULL, 0) == 0);
  taken = 1;
  return nothing;
}

// The kernel's return to user code faults while SS holds what another thread has taken away. Not every machine notices before it is reloaded.
static void stack_segment_taken_away(void) {
  if (set_entry(3, NULL, 1) != 0 || !can_load(3 << 3 | 7)) return;
  pthread_t other;
  CHECK(pthread_create(&other, NULL, takes_away, NULL) == 0);
  if (sigsetjmp(back, 1) == 0) {
    asm volatile("mov %0, %%ss" : : "r"((uint16_t)(3 << 3 | 7)));
    loaded = 1;   // no system call from here on: it would load SS
    while (!taken) continue;
    asm volatile("mov %0, %%ss" : : "r"((uint16_t)0x2b));
  }
  uint16_t ss;
  asm volatile("mov %%ss, %0" : "=r"(ss));
  CHECK_EQUAL(ss, 0x2b);
  CHECK(pthread_join(other, NULL) == 0);
}

static void bases(void) {
  uint64_t base = 0;
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, data) == 0 && syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == (uintptr_t)data);
  uint32_t value;
  asm volatile("mov %%gs:4, %0" : "=r"(value) : : "memory");
  CHECK_EQUAL(value, 22);
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, (uint64_t)1 << 63) == -1 && errno == EPERM);
  CHECK(syscall(SYS_arch_prctl, 0x9999, 0) == -1 && errno == EINVAL);
  if (has_fsgsbase()) {
    asm volatile("wrgsbase %0" : : "r"((uint64_t)(data + 1)));
    asm volatile("rdgsbase %0" : "=r"(base));
    asm volatile("mov %%gs:4, %0" : "=r"(value) : : "memory");
    CHECK(base == (uintptr_t)(data + 1) && value == 33);
    uint64_t fs;
    asm volatile("rdfsbase %0" : "=r"(fs));
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &base) == 0 && base == fs);
    asm volatile("wrfsbase %1\n mov %%fs:12, %0\n wrfsbase %2" : "=&r"(value) : "r"((uint64_t)data), "r"(fs) : "memory");
    CHECK_EQUAL(value, 44);
  }
  asm volatile("mov %0, %%gs" : : "r"(0));
}

static void selectors(void) {
  uint16_t cs, ss, ds, es;
  asm volatile("mov %%cs, %0\n mov %%ss, %1\n mov %%ds, %2\n mov %%es, %3" : "=r"(cs), "=r"(ss), "=r"(ds), "=r"(es));
  CHECK(cs == 0x33 && ss == 0x2b && ds == 0 && es == 0);
  asm volatile("mov %0, %%ds\n mov %%ds, %1\n" : : "r"((uint16_t)0x2b), "r"(ds));
  asm volatile("mov %%ds, %0" : "=r"(ds));
  CHECK_EQUAL(ds, 0x2b);
  asm volatile("mov %0, %%ds" : : "r"((uint16_t)0));
  uint32_t rights = 0;
  char valid;
  asm volatile("lar %2, %0\n setz %1" : "+r"(rights), "=q"(valid) : "r"((uint32_t)cs));
  CHECK(valid && (rights & 0x200000) != 0);   // L: 64-bit code
  fault = 0;
  if (sigsetjmp(back, 1) == 0) asm volatile("lgdt (%0)" : : "r"(data));
  CHECK_EQUAL(fault, SIGSEGV);
  fault = 0;
  if (sigsetjmp(back, 1) == 0) asm volatile("mov %0, %%ss" : : "r"((uint16_t)0x33));
  CHECK_EQUAL(fault, SIGSEGV);
}

int main(void) {
  signal(SIGSEGV, caught);
  local_table();
  stack_segment_taken_away();
  bases();
  selectors();
  return finish();
}

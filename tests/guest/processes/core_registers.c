// The core file of a fatal signal has the registers, the siginfo and the stack of the program: of faults, and of calls by which a thread ends itself.
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum Way { kFault, kUndefined, kDivision, kTgkill, kTkill, kKill, kWays };

// Loads all registers with what can be known again, and ends. `a` to `c`: the call's arguments.
#define END_BY(instruction, label)                                                                                                            \
  __asm__ volatile(                                                                                                                          \
      "pcmpeqd %%xmm7, %%xmm7; psrlq $17, %%xmm7; fld1; fldpi; std\n"                                                                        \
      "mov $0x88, %%r8d; mov $0x99, %%r9d; mov $0xa10, %%r10d; mov $0xc12, %%r12d; mov $0xd13, %%r13d; mov $0xe14, %%r14d; mov $0xf15, %%r15d\n" \
      "mov $0x1bb, %%ebx; mov $0x1bbb, %%ebp; push $0x5eed\n"                                                                                \
      ".globl " label "\n" label ": " instruction                                                                                            \
      :                                                                                                                                      \
      : "a"(number), "D"(a), "S"(b), "d"(c)                                                                                                   \
      : "memory")

extern char at_fault[], at_undefined[], at_division[], at_call[];

__attribute__((noinline, noclone)) static void end(enum Way way) {
  long number = 0x1aa, a = 0x1d1, b = 0x151, c = 0;
  const pid_t self = getpid(), thread = (pid_t)syscall(SYS_gettid);
  if (way == kFault) END_BY("mov 64(%%rdx), %%r11", "at_fault");
  if (way == kUndefined) END_BY("ud2", "at_undefined");
  if (way == kDivision) END_BY("idiv %%rdx", "at_division");
  if (way == kTgkill) number = SYS_tgkill, a = self, b = thread, c = SIGABRT;
  if (way == kTkill) number = SYS_tkill, a = thread, b = SIGQUIT;
  if (way == kKill) number = SYS_kill, a = self, b = SIGXCPU;
  END_BY("syscall", "at_call");
}

static void* end_in_thread(void* way) {
  end((enum Way)(long)way);
  return NULL;
}

static const void* note(const uint8_t* core, uint32_t kind) {   // the first: of the thread that has got the signal
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)core;
  const Elf64_Phdr* segment = (const Elf64_Phdr*)(core + header->e_phoff);
  while (segment->p_type != PT_NOTE) ++segment;
  for (const uint8_t* at = core + segment->p_offset; at < core + segment->p_offset + segment->p_filesz;) {
    const Elf64_Nhdr* n = (const Elf64_Nhdr*)at;
    const uint8_t* content = at + sizeof *n + ((n->n_namesz + 3) & ~3u);
    if (n->n_type == kind) return content;
    at = content + ((n->n_descsz + 3) & ~3u);
  }
  CHECK(!"note");
  return NULL;
}

static uint64_t word_at(const uint8_t* core, uint64_t address) {
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)core;
  const Elf64_Phdr* segment = (const Elf64_Phdr*)(core + header->e_phoff);
  for (int k = 0; k < header->e_phnum; ++k)
    if (segment[k].p_type == PT_LOAD && address - segment[k].p_vaddr < segment[k].p_filesz)
      return *(const uint64_t*)(core + segment[k].p_offset + (address - segment[k].p_vaddr));
  CHECK(!"address");
  return 0;
}

static void check(const uint8_t* core, enum Way way, int in_thread, pid_t child) {
  const struct elf_prstatus* status = note(core, NT_PRSTATUS);
  const struct user_regs_struct* r = (const struct user_regs_struct*)&status->pr_reg;
  const struct user_fpregs_struct* f = note(core, NT_FPREGSET);
  const siginfo_t* info = note(core, NT_SIGINFO);
  const char* const places[] = {at_fault, at_undefined, at_division, at_call + 2, at_call + 2, at_call + 2};
  CHECK_EQUAL(r->rip, places[way]);
  CHECK(r->r8 == 0x88 && r->r9 == 0x99 && r->r10 == 0xa10 && r->r12 == 0xc12 && r->r13 == 0xd13 && r->r14 == 0xe14 && r->r15 == 0xf15);
  CHECK(r->rbx == 0x1bb && r->rbp == 0x1bbb && (r->eflags & 0x400) != 0);
  CHECK_EQUAL(r->rax, way >= kTgkill ? 0 : 0x1aa);
  if (way >= kTgkill) CHECK(r->rcx == r->rip && (r->r11 & 0x400) != 0 && (in_thread || r->rdi == (uint64_t)child));
  CHECK_EQUAL(word_at(core, r->rsp), 0x5eed);
  CHECK(f->xmm_space[28] == ~0u && f->xmm_space[29] == ~0u >> 17 && (f->st_space[6] & 0xffff) == 0x3fff && f->st_space[5] == 0x80000000);
  const int codes[] = {SEGV_MAPERR, ILL_ILLOPN, FPE_INTDIV, SI_TKILL, SI_TKILL, SI_USER};
  CHECK_EQUAL(info->si_signo, status->pr_cursig);
  CHECK_EQUAL(info->si_code, codes[way]);
  if (way == kFault) CHECK_EQUAL(info->si_addr, 64);
  if (way >= kTgkill) CHECK(info->si_pid == child && info->si_uid == getuid());
  if (r->fs_base == 0 || word_at(core, r->fs_base) != r->fs_base) CHECK(!"thread pointer");
  printf("way %d, thread %d: signal %d\n", way, in_thread, info->si_signo);
}

static void look_at(enum Way way, int in_thread) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    if (!in_thread) end(way);
    CHECK(pthread_create(&thread, NULL, end_in_thread, (void*)(long)way) == 0);
    pthread_join(thread, NULL);
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  char with_number[32];
  snprintf(with_number, sizeof with_number, "core.%d", child);
  const char* name = access("core", R_OK) == 0 ? "core" : with_number;
  const int file = open(name, O_RDONLY);
  struct stat s;
  if (file < 0) (void)!system("cd .. && rm -rf core_registers_??????");
  skip_unless(file >= 0, "core files beside the program");
  CHECK(fstat(file, &s) == 0);
  const uint8_t* core = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  CHECK(core != MAP_FAILED);
  check(core, way, in_thread, child);
  CHECK(munmap((void*)core, (size_t)s.st_size) == 0 && close(file) == 0 && unlink(name) == 0);
}

int main(void) {
  char folder[] = "core_registers_XXXXXX";
  CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
  for (enum Way way = 0; way < kWays; ++way) look_at(way, 0);
  for (enum Way way = 0; way < kKill; ++way) look_at(way, 1);   // kill's may end another thread
  CHECK(chdir("..") == 0 && rmdir(folder) == 0);
  return finish();
}

// A program whose first instruction is not in executable memory, or in the last bytes of it, could not be prepared:
// simrun made its system calls there. Programs that no linker makes, each executed by a child.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kCodeOffset = 0x200, kPage = 0x1000, kMaxSegments = 3 };

// mov $60, %eax; mov $7, %edi; syscall
static const char kExit[] = "\xb8\x3c\0\0\0\xbf\x07\0\0\0\x0f\x05";
// sub $64, %rsp; movb $0xc3, (%rsp); call *%rsp; and the above
static const char kCallStack[] = "\x48\x83\xec\x40\xc6\x04\x24\xc3\xff\xd4\xb8\x3c\0\0\0\xbf\x07\0\0\0\x0f\x05";
static const char kSyscallLast[] = "\x0f\x05";   // with number 0: read(0, 0, 0)

struct Image {
  const char* name;
  const char* code;
  size_t code_size, code_at;   // in the file
  Elf64_Half type;
  Elf64_Addr entry;
  Elf64_Phdr segments[kMaxSegments];
};

#define LOAD(flags, address, file_size, memory_size, align) \
  {PT_LOAD, flags, 0, address, address, file_size, memory_size, align}
#define STACK(flags) {.p_type = PT_GNU_STACK, .p_flags = flags}
#define CODE(c) c, sizeof c - 1

static const struct Image kImages[] = {
  {"entry not executable", CODE(kExit), kCodeOffset, ET_EXEC, 0x400200,
   {LOAD(PF_R, 0x400000, kPage, kPage, kPage), STACK(PF_R | PF_W)}},
  {"entry in data", CODE(kExit), kCodeOffset, ET_EXEC, 0x410200,
   {LOAD(PF_R | PF_X, 0x400000, kPage, kPage, kPage), LOAD(PF_R | PF_W, 0x410000, kPage, kPage, kPage),
    STACK(PF_R | PF_W | PF_X)}},
  {"code on the stack", CODE(kCallStack), kCodeOffset, ET_EXEC, 0x400200,
   {LOAD(PF_R | PF_X, 0x400000, kPage, kPage, kPage), STACK(PF_R | PF_W | PF_X)}},
  {"falls off the segment", CODE(kSyscallLast), kPage - 2, ET_EXEC, 0x400ffe,
   {LOAD(PF_R | PF_X, 0x400000, kPage, kPage, kPage)}},
  {"one over the other", CODE(kExit), kCodeOffset, ET_EXEC, 0x400200,
   {LOAD(PF_R, 0x400000, kPage, kPage, kPage), LOAD(PF_R | PF_W | PF_X, 0x400000, kPage, 3 * kPage, kPage)}},
  {"far away", CODE(kExit), kCodeOffset, ET_EXEC, 0x4c0000000200,
   {LOAD(PF_R | PF_X, 0x4c0000000000, kPage, kPage, kPage)}},
};

static void write_image(const struct Image* image, const char* path) {
  char bytes[kPage] = {0};
  Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = image->type,
                       .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_entry = image->entry,
                       .e_phoff = sizeof header, .e_ehsize = sizeof header, .e_phentsize = sizeof(Elf64_Phdr)};
  while (header.e_phnum < kMaxSegments && image->segments[header.e_phnum].p_type != PT_NULL) ++header.e_phnum;
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, image->segments, sizeof image->segments);
  memcpy(bytes + image->code_at, image->code, image->code_size);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  CHECK(file >= 0 && write(file, bytes, sizeof bytes) == sizeof bytes && close(file) == 0);
}

int main(void) {
  for (size_t k = 0; k < sizeof kImages / sizeof *kImages; ++k) {
    write_image(&kImages[k], "image");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      unsetenv("LD_PRELOAD");
      execl("./image", "image", (char*)NULL);
      _exit(errno);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    printf("%s: exit status %d, signal %d\n", kImages[k].name, WEXITSTATUS(status), WTERMSIG(status));
  }
  return finish();
}

// Arguments, environment and the auxiliary vector are what the kernel gave; working directory, umask, descriptors,
// limits and names too.
#include <dirent.h>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/guest/guest.h"

extern char** environ;

static void auxiliary(void) {
  const unsigned long same[] = {AT_PHENT, AT_PHNUM,  AT_PAGESZ, AT_UID,   AT_EUID,   AT_GID,
                                AT_EGID,  AT_CLKTCK, AT_SECURE, AT_HWCAP, AT_HWCAP2, AT_MINSIGSTKSZ};
  for (unsigned i = 0; i < sizeof same / sizeof *same; ++i) printf("auxv %lu: %#lx\n", same[i], getauxval(same[i]));
  printf("executable: %s, platform %s\n", (char*)getauxval(AT_EXECFN), (char*)getauxval(AT_PLATFORM));
  const Elf64_Phdr* headers = (void*)getauxval(AT_PHDR);
  int loads = 0;
  for (unsigned long i = 0; i < getauxval(AT_PHNUM); ++i) loads += headers[i].p_type == PT_LOAD;
  printf("%d segments, entry at %#lx, random %d, vdso %d\n", loads, getauxval(AT_ENTRY) & 0xfff,
         getauxval(AT_RANDOM) != 0, getauxval(AT_SYSINFO_EHDR) != 0);
}

static void descriptors(void) {
  struct stat s;
  for (int fd = 0; fd < 256; ++fd)
    if (fstat(fd, &s) == 0) printf("descriptor %d, type %o\n", fd, s.st_mode & S_IFMT);
}

static void limits(void) {
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    struct rlimit limit;
    CHECK(getrlimit(i, &limit) == 0);
    printf("limit %d: %lld %lld\n", i, (long long)limit.rlim_cur, (long long)limit.rlim_max);
  }
}

static void names(void) {
  char name[17] = {0}, text[4096] = {0}, path[4096];
  prctl(PR_GET_NAME, name);
  printf("name %s\n", name);
  FILE* f = fopen("/proc/self/cmdline", "r");
  const size_t n = fread(text, 1, sizeof text - 1, f);
  for (size_t i = 0; i + 1 < n; ++i)
    if (!text[i]) text[i] = ' ';
  printf("command line %s\n", text);
  memset(path, 0, sizeof path);
  CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  printf("executable %s\n", path);
  CHECK(strcmp(path, (char*)getauxval(AT_EXECFN)) == 0);
  printf("dumpable %d, no new privileges %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

int main(int argc, char** argv) {
  for (int i = 0; i <= argc; ++i) printf("argument %d: %s\n", i, argv[i] ? argv[i] : "none");
  for (char** e = environ; *e; ++e)
    if (strncmp(*e, "HOME=", 5) != 0) printf("environment %s\n", *e);
  CHECK((char**)environ == argv + argc + 1);
  auxiliary();
  descriptors();
  limits();
  names();
  const mode_t mask = umask(0);
  printf("umask %o\n", mask);
  return finish();
}

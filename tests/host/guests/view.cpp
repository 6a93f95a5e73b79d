// Prints what a program can see of how it was started, apart from what differs between any two runs. With an argument "layout" also
// addresses (comparable without randomisation only).
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace {

std::string read_file(const char* path) {
  std::string content;
  const int fd = open(path, O_RDONLY);
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) content.append(buffer, static_cast<size_t>(n));
  close(fd);
  std::replace(content.begin(), content.end(), '\0', '|');
  return content;
}

// Lines of /proc/self/status that a parent or an exec decides about.
void print_status() {
  const std::string status = read_file("/proc/self/status");
  for (const char* key : {"SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "Umask", "Threads", "TracerPid", "NoNewPrivs", "Groups"}) {
    const size_t at = status.find(std::string("\n") + key);
    if (at != std::string::npos) std::printf("%s\n", status.substr(at + 1, status.find('\n', at + 1) - at - 1).c_str());
  }
}

void print_descriptors() {
  std::vector<std::string> names;
  DIR* d = opendir("/proc/self/fd");
  const std::string own = std::to_string(dirfd(d));
  while (const dirent* e = readdir(d))
    if (e->d_name[0] != '.' && e->d_name != own) names.push_back(e->d_name);
  closedir(d);
  std::sort(names.begin(), names.end());
  for (const std::string& n : names) std::printf("fd %s flags %x\n", n.c_str(), fcntl(std::stoi(n), F_GETFL));
}

void print_auxiliary_vector(char** after_environment, bool layout) {
  for (auto* v = reinterpret_cast<Elf64_auxv_t*>(after_environment); v->a_type != AT_NULL; ++v) {
    const bool address = v->a_type == AT_RANDOM || v->a_type == AT_SYSINFO_EHDR || v->a_type == AT_PHDR || v->a_type == AT_BASE ||
                         v->a_type == AT_ENTRY || v->a_type == AT_EXECFN || v->a_type == AT_PLATFORM;
    std::printf("auxv %lu", v->a_type);
    if (!address || layout) std::printf(" %lx", v->a_un.a_val);
    if (v->a_type == AT_EXECFN || v->a_type == AT_PLATFORM) std::printf(" %s", reinterpret_cast<char*>(v->a_un.a_val));
    std::printf("\n");
  }
}

void print_limits() {
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    rlimit l;
    getrlimit(static_cast<__rlimit_resource>(i), &l);
    std::printf("limit %d %lx %lx\n", i, l.rlim_cur, l.rlim_max);
  }
}

int print_object(dl_phdr_info* info, size_t, void*) {
  std::printf("object %s at %lx\n", info->dlpi_name, info->dlpi_addr);
  return 0;
}

void print_layout(const void* stack) {
  std::printf("stack %p break %p\n", stack, sbrk(0));
  for (const size_t size : {size_t{4096}, size_t{1} << 20, size_t{1} << 30})
    std::printf("mmap %p\n", mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  dl_iterate_phdr(print_object, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const bool layout = argc > 1 && std::strcmp(argv[1], "layout") == 0;
  static char out[1 << 16];
  setvbuf(stdout, out, _IOFBF, sizeof out);
  for (int i = 0; i < argc; ++i) std::printf("argv %s\n", argv[i]);
  char** e = environ;
  for (; *e; ++e) std::printf("env %s\n", *e);
  print_auxiliary_vector(e + 1, layout);
  std::printf("environ %s\ncmdline %s\n", read_file("/proc/self/environ").c_str(), read_file("/proc/self/cmdline").c_str());
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 1;
  std::printf("exe %s comm %s", path, read_file("/proc/self/comm").c_str());
  std::printf("cwd %s personality %x group %d session %d\n", getcwd(path, sizeof path), personality(0xffffffff), getpgid(0) == getpgid(getppid()),
              getsid(0) == getsid(getppid()));
  print_status();
  print_descriptors();
  print_limits();
  if (layout) print_layout(argv);
  return 42;
}

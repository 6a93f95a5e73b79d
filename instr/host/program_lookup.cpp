#include "instr/host/program_lookup.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/user_error.h"
#include "instr/host/elf_file.h"
#include "instr/host/file_descriptor.h"

namespace simrun::host {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr int kMaxInterpreterDepth = 5;      // BINPRM_BUF recursion limit of the kernel (fs/exec.c: exec_binprm)
constexpr size_t kInterpreterLineBytes = 256;  // BINPRM_BUF_SIZE

[[noreturn]] void refuse(const std::string& path, std::string_view reason, int status = kNotExecutable) {
  throw UserError(fmt::format("{}: {}", path, reason), status);
}

// 0 when `path` is a file that may be executed, else an errno; as execve would find it.
int executable_error(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return errno;
  if (S_ISDIR(s.st_mode)) return EISDIR;
  if (!S_ISREG(s.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

[[noreturn]] void refuse_for(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: refuse(path, "no such program", kNotFound);
    case EISDIR: refuse(path, "is a directory, not a program");
    case EACCES: refuse(path, "is not executable (no execute permission, or a directory on the way is closed)");
    default: refuse(path, std::strerror(error));
  }
}

// The search of execvp (POSIX exec, glibc posix/execvpe.c): a file that may not be executed does not end the search but decides
// the error when nothing better follows.
std::string search_path(const std::string& name, const char* variable) {
  std::string_view rest = variable ? variable : "/bin:/usr/bin";
  std::string refused;
  int error = 0;
  for (;;) {
    const size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string candidate = folder.empty() ? name : fmt::format("{}/{}", folder, name);
    const int e = executable_error(candidate);
    if (e == 0) return candidate;
    if (e != ENOENT && e != ENOTDIR && e != EISDIR) {
      refused = candidate;
      error = e;
    }
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (error != 0) refuse_for(refused, error);
  throw UserError(fmt::format("{}: no such program in PATH", name), kNotFound);
}

bool mounted_without_set_id(const std::string& path) {
  struct statvfs v;
  return statvfs(path.c_str(), &v) == 0 && (v.f_flag & ST_NOSUID) != 0;
}

// The kernel does not grant privileges to a program that an unprivileged process traces (fs/exec.c, LSM_UNSAFE_PTRACE): it would run, but
// not as itself.
void check_privileges(const std::string& path) {
  if (geteuid() == 0 || mounted_without_set_id(path)) return;
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return;
  constexpr std::string_view advice =
      "the kernel does not give them to a program that is being instrumented; run simrun as root, or run the program without it";
  if ((s.st_mode & S_ISUID) && s.st_uid != geteuid())
    refuse(path, fmt::format("is a set-uid program (needs the rights of user {}): {}", s.st_uid, advice));
  if ((s.st_mode & S_ISGID) && (s.st_mode & S_IXGRP) && s.st_gid != getegid())
    refuse(path, fmt::format("is a set-gid program (needs the rights of group {}): {}", s.st_gid, advice));
  if (getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
    refuse(path, fmt::format("carries file capabilities: {}", advice));
}

void check_elf(const std::string& path, const ElfFile& elf, bool headers_readable) {
  if (elf.kind == ElfKind::k32Bit) refuse(path, "is a 32-bit program; simrun runs 64-bit x86-64 programs only");
  if (elf.kind == ElfKind::kOtherMachine)
    refuse(path, fmt::format("is a program for another processor (ELF machine {}); simrun runs x86-64 programs only", elf.machine));
  if (!headers_readable) refuse(path, "is a damaged ELF file");
  if (!elf.interpreter.empty() && access(elf.interpreter.c_str(), F_OK) != 0)
    refuse(path, fmt::format("its dynamic loader {} does not exist", elf.interpreter), kNotFound);
  check_privileges(path);
}

// The interpreter of a first line `#! interpreter [argument]`, with the rules of fs/binfmt_script.c.
std::string interpreter_of(std::string_view head) {
  std::string_view line = head.substr(2, head.find('\n') == std::string_view::npos ? head.npos : head.find('\n') - 2);
  const size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  line.remove_prefix(start);
  return std::string(line.substr(0, line.find_first_of(std::string_view(" \t\0", 3))));
}

enum class Form { kElf, kScript, kText };

Form check_file(const std::string& path, int depth);

void check_script(const std::string& path, std::string_view head, int depth) {
  const std::string interpreter = interpreter_of(head);
  if (interpreter.empty()) refuse(path, "its first line (#!) names no interpreter");
  if (depth >= kMaxInterpreterDepth) refuse(path, "too many interpreters of interpreters");
  const int error = executable_error(interpreter);
  if (error == ENOENT || error == ENOTDIR)
    refuse(path, fmt::format("its interpreter {} (first line, #!) does not exist", interpreter), kNotFound);
  if (error != 0) refuse(path, fmt::format("its interpreter {} (first line, #!) cannot be executed", interpreter));
  if (check_file(interpreter, depth + 1) == Form::kText)
    refuse(path, fmt::format("its interpreter {} (first line, #!) is not a program", interpreter));
}

// Throws UserError for a file that cannot be run; `path` is executable by its permissions.
Form check_file(const std::string& path, int depth) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse(path, fmt::format("cannot be read ({}); simrun must be able to read what it runs", std::strerror(errno)));
  char head[kInterpreterLineBytes] = {};
  const ssize_t got = pread(file.get(), head, sizeof head, 0);
  const std::string_view text(head, got > 0 ? static_cast<size_t>(got) : 0);
  if (text.starts_with("#!")) {
    check_script(path, text, depth);
    return Form::kScript;
  }
  ElfFile elf;
  const bool readable = read_elf(file.get(), elf);
  if (elf.kind != ElfKind::kNotElf) {
    check_elf(path, elf, readable);
    return Form::kElf;
  }
  // What shells do: a NUL in the first line means that this is no script.
  if (text.substr(0, text.find('\n')).find('\0') != std::string_view::npos)
    refuse(path, "is neither an ELF program nor a script");
  return Form::kText;
}

}  // namespace

Program find_program(const std::vector<std::string>& command) { return find_program(command, std::getenv("PATH")); }

Program find_program(const std::vector<std::string>& command, const char* search) {
  if (command.empty() || command[0].empty()) throw UserError("no program given", command.empty() ? 2 : kNotFound);
  std::string path = command[0];
  if (path.find('/') == std::string::npos)
    path = search_path(path, search);
  else if (const int error = executable_error(path))
    refuse_for(path, error);
  if (check_file(path, 0) != Form::kText) return {path, command};
  check_file("/bin/sh", 1);
  Program shell{"/bin/sh", {"/bin/sh", path}};
  shell.arguments.insert(shell.arguments.end(), command.begin() + 1, command.end());
  return shell;
}

}  // namespace simrun::host

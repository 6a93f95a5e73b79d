#include "instr/host/private_loader.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/user_error.h"
#include "instr/host/elf_file.h"
#include "instr/host/file_descriptor.h"
#include "instr/host/lent_files.h"

namespace simrun::host {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t page_down(uint64_t a) { return a & ~(kPage - 1); }
constexpr uint64_t page_up(uint64_t a) { return page_down(a + kPage - 1); }

ElfFile read_x86_64(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw UserError(fmt::format("cannot read {}: {}; is simrun installed completely?", path, std::strerror(errno)));
  ElfFile elf;
  if (!read_elf(file.get(), elf) || elf.kind != ElfKind::kX8664)
    throw UserError(fmt::format("{} is not a 64-bit x86-64 ELF file; is simrun installed completely?", path));
  return elf;
}

int protection(uint32_t flags) {
  return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

// As elf_map and padzero of fs/binfmt_elf.c: file pages, the rest of the last one cleared, anonymous pages behind it.
void map_segment(RemoteProcess& process, uint64_t base, const ElfSegment& s, uint64_t descriptor) {
  const uint64_t start = page_down(base + s.address);
  const uint64_t file_end = base + s.address + s.file_bytes;
  const uint64_t memory_end = base + s.address + s.memory_bytes;
  const uint64_t prot = static_cast<uint64_t>(protection(s.flags));
  if (s.file_bytes > 0)
    process.must_call("map the engine's loader", SYS_mmap, {start, page_up(file_end) - start, prot, MAP_PRIVATE | MAP_FIXED, descriptor,
                                                            page_down(s.file_offset)});
  if (s.memory_bytes <= s.file_bytes) return;
  const uint64_t anonymous = s.file_bytes > 0 ? page_up(file_end) : start;
  if (anonymous > file_end && s.file_bytes > 0) {
    // To the end of the page: the loader allocates from behind its own data and takes it for zero (elf/dl-minimal.c).
    const std::vector<char> zeros(anonymous - file_end);
    process.write(file_end, zeros.data(), zeros.size());
  }
  if (page_up(memory_end) > anonymous)
    process.must_call("map the engine's loader", SYS_mmap, {anonymous, page_up(memory_end) - anonymous, prot,
                                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ull, 0});
}

// Returns the load base. The whole span is reserved first so that the segments keep their distances.
uint64_t map_loader(RemoteProcess& process, const ElfFile& elf, uint64_t descriptor) {
  const uint64_t low = page_down(elf.segments.front().address);
  const uint64_t high = page_up(elf.segments.back().address + elf.segments.back().memory_bytes);
  const uint64_t at = process.must_call("map the engine's loader", SYS_mmap,
                                        {0, high - low, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull, 0});
  const uint64_t base = at - low;
  for (const ElfSegment& s : elf.segments) map_segment(process, base, s, descriptor);
  return base;
}

// Where the kernel puts the program headers of a loaded file: in the segment that covers their file offset.
uint64_t headers_address(const ElfFile& elf, uint64_t base) {
  for (const ElfSegment& s : elf.segments)
    if (elf.headers_offset >= s.file_offset && elf.headers_offset < s.file_offset + s.file_bytes)
      return base + s.address + elf.headers_offset - s.file_offset;
  return 0;
}

// Builds the contents of a new stack from its top downwards.
class StackBuilder {
 public:
  explicit StackBuilder(uint64_t top) : top_(top) {}

  // Address of a copy of these bytes.
  uint64_t bytes(const void* data, size_t count) {
    const char* p = static_cast<const char*>(data);
    data_.insert(data_.begin(), p, p + count);
    return top_ - data_.size();
  }
  uint64_t string(const std::string& s) { return bytes(s.c_str(), s.size() + 1); }
  // Puts the words below everything, the first at a 16-byte boundary (System V ABI, 3.4.1); returns the stack pointer.
  uint64_t words(const std::vector<uint64_t>& w) {
    const size_t size = w.size() * sizeof(uint64_t);
    const std::vector<char> padding((top_ - data_.size() - size) % 16);
    data_.insert(data_.begin(), padding.begin(), padding.end());
    return bytes(w.data(), size);
  }
  const std::vector<char>& contents() const { return data_; }

 private:
  uint64_t top_;
  std::vector<char> data_;
};

std::vector<std::string> engine_environment() {
  // The private C library must not register a restartable-sequence area for a thread that belongs to the application's C library, and maps no
  // memory for further arenas, which would count as the application's. The allocator's first mapping is for all that most programs need,
  // so that the engine goes on where the application has as many mappings as there may be.
  std::vector<std::string> result = {"GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.malloc.arena_max=1",
                                     "MIMALLOC_RESERVE_OS_MEMORY=256MiB"};
  for (char** e = environ; *e; ++e)
    if (std::string_view(*e).starts_with("SIMRUN_")) result.emplace_back(*e);
  return result;
}

// The application's vector (processor, vdso, user ids, entries unknown to us) with the loader as the program.
std::vector<uint64_t> auxiliary_vector(const RemoteProcess& process, StackBuilder& stack, const ElfFile& elf, uint64_t base,
                                       const std::string& loader) {
  std::map<uint64_t, uint64_t> v = read_auxiliary_vector(process.pid());
  uint8_t random[16];
  if (getrandom(random, sizeof random, 0) != sizeof random) throw UserError("getrandom failed");
  v[AT_PHDR] = headers_address(elf, base);
  v[AT_PHENT] = sizeof(Elf64_Phdr);
  v[AT_PHNUM] = elf.headers;
  v[AT_BASE] = 0;
  v[AT_ENTRY] = base + elf.entry;
  v[AT_SECURE] = 0;
  v[AT_RANDOM] = stack.bytes(random, sizeof random);
  v[AT_EXECFN] = stack.string(loader);
  v[AT_PLATFORM] = stack.string("x86_64");
  v.erase(AT_BASE_PLATFORM);
  v.erase(AT_SYSINFO_EHDR);   // the vdso is the application's, which may move it or take it away
  std::vector<uint64_t> words;
  for (const auto& [type, value] : v) words.insert(words.end(), {type, value});
  words.insert(words.end(), {AT_NULL, 0});
  return words;
}

void append_strings(std::vector<uint64_t>& words, StackBuilder& stack, const std::vector<std::string>& strings) {
  for (const std::string& s : strings) words.push_back(stack.string(s));
  words.push_back(0);
}

}  // namespace

namespace {

// Not of a file on a file system that is mounted noexec.
bool may_map_code(const RemoteProcess& process, int64_t descriptor) {
  const FileDescriptor file(open(fmt::format("/proc/{}/fd/{}", process.pid(), descriptor).c_str(), O_PATH | O_CLOEXEC));
  struct statvfs s;
  return file && fstatvfs(file.get(), &s) == 0 && (s.f_flag & ST_NOEXEC) == 0;
}

// Whether its /proc is one that knows it: ours, or it can be opened there.
bool sees_itself(RemoteProcess& process, uint64_t scratch) {
  struct stat here, there;
  if (stat("/proc", &here) == 0 && stat(fmt::format("/proc/{}/root/proc", process.pid()).c_str(), &there) == 0 && here.st_dev == there.st_dev) return true;
  constexpr char kMaps[] = "/proc/thread-self/maps";
  process.write(scratch, kMaps, sizeof kMaps);
  const int64_t descriptor = process.call(SYS_openat, {static_cast<uint64_t>(AT_FDCWD), scratch, O_RDONLY | O_CLOEXEC});
  if (descriptor < 0) return false;
  process.must_call("close a descriptor", SYS_close, {static_cast<uint64_t>(descriptor)});
  return true;
}

}  // namespace

border::AddressRange map_engine_stack(RemoteProcess& process) {
  const uint64_t base =
      process.must_call("map the engine's stack", SYS_mmap, {0, kEngineStackBytes, PROT_READ | PROT_WRITE,
                                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, ~0ull, 0});
  return {base, kEngineStackBytes};
}

EntryPoint prepare_engine(RemoteProcess& process, const std::string& engine_path, uint64_t mapping_address,
                          const border::AddressRange& stack) {
  const ElfFile engine = read_x86_64(engine_path);
  if (engine.interpreter.empty()) throw UserError(fmt::format("{} is statically linked: not simrun's engine", engine_path));
  const ElfFile loader = read_x86_64(engine.interpreter);
  const int64_t own_engine = open_same(process, engine_path, stack.base);
  int64_t descriptor = own_engine < 0 ? own_engine : open_same(process, engine.interpreter, stack.base);
  const bool lends = descriptor < 0 || !may_map_code(process, own_engine) || !may_map_code(process, descriptor) ||
                      !sees_itself(process, stack.base);
  if (own_engine >= 0) process.must_call("close a descriptor", SYS_close, {static_cast<uint64_t>(own_engine)});
  if (lends && descriptor >= 0) process.must_call("close a descriptor", SYS_close, {static_cast<uint64_t>(descriptor)});
  if (lends) descriptor = static_cast<int64_t>(lend_file(process, engine.interpreter, stack.base));
  const uint64_t base = map_loader(process, loader, static_cast<uint64_t>(descriptor));
  process.must_call("close a descriptor", SYS_close, {static_cast<uint64_t>(descriptor)});

  StackBuilder builder(stack.base + stack.bytes);
  const std::vector<uint64_t> vector = auxiliary_vector(process, builder, loader, base, engine.interpreter);
  const std::vector<std::string> arguments = {engine.interpreter, engine_path, fmt::format("{:#x}", mapping_address)};
  std::vector<uint64_t> words = {arguments.size()};
  append_strings(words, builder, arguments);
  append_strings(words, builder, engine_environment());
  words.insert(words.end(), vector.begin(), vector.end());
  const uint64_t sp = builder.words(words);
  process.write(sp, builder.contents().data(), builder.contents().size());
  return {base + loader.entry, sp, lends};
}

}  // namespace simrun::host

#include "cli/engine_diagnosis.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/user_error.h"

namespace simrun::cli {

namespace {

// Where the code cache is executed for what the application has at `pc`: in the view next to it (instr/engine/codecache/code_cache.h).
uint64_t view_for(const std::vector<MapsEntry>& maps, uint64_t pc, uint64_t otherwise) {
  uint64_t nearest = otherwise;
  const auto distance = [pc](uint64_t view) { return pc < view ? view - pc : pc - view; };
  for (const MapsEntry& e : maps)
    if (e.executable && e.offset == 0 && e.path.starts_with("/memfd:simrun-code-cache") && distance(e.start) < distance(nearest))
      nearest = e.start;
  return nearest;
}

// And closes it. 0, or the error.
int write_all(int file, std::string_view contents) {
  int error = 0;
  while (error == 0 && !contents.empty()) {
    const ssize_t written = write(file, contents.data(), contents.size());
    if (written > 0) contents.remove_prefix(static_cast<size_t>(written));
    if (written <= 0 && errno != EINTR) error = written < 0 ? errno : EIO;
  }
  return close(file) == 0 || error != 0 ? error : errno;
}

}  // namespace

EngineDiagnosis::EngineDiagnosis(const std::string& log, bool maps_code) : log_name_(log == "-" ? "standard error" : log), maps_code_(maps_code) {
  if (log.empty()) return;
  log_ = log == "-" ? stderr : std::fopen(log.c_str(), "we");
  if (log_ == nullptr) throw UserError(fmt::format("--debug-engine: cannot write {}: {}", log, std::strerror(errno)));
}

EngineDiagnosis::~EngineDiagnosis() {
  if (log_ != nullptr && log_ != stderr) std::fclose(log_);
}

void EngineDiagnosis::look_at_all(host::Family& family) {
  const auto now = std::chrono::steady_clock::now();
  const bool names = maps_code_ && now >= next_names_;
  for (uint32_t k = 0; k < family.size(); ++k) {
    if (family.is_forgotten(k) || (!names && log_ == nullptr)) continue;
    Process& process = processes_[family[k].pid()];
    if (log_ != nullptr) pass_log_on(family[k], process);
    if (names) name_code(family[k], process);
  }
  if (names) next_names_ = now + std::chrono::seconds(1);
}

void EngineDiagnosis::finish(host::Target& target) {
  if (log_ == nullptr && !maps_code_) return;
  Process& process = processes_[target.pid()];
  if (log_ != nullptr) pass_log_on(target, process);
  if (maps_code_) name_code(target, process);
  processes_.erase(target.pid());
}

void EngineDiagnosis::pass_log_on(const host::Target& target, Process& process) {
  const border::ProcessHeader& h = target.header();
  if (h.log_offset == 0) return;
  const auto* const entries =
      reinterpret_cast<const border::LogEntry*>(static_cast<const char*>(target.mapping()) + h.log_offset);
  const uint64_t begun = h.log_lines.load(std::memory_order_acquire);
  if (process.lines > begun) process.lines = 0;  // another image in the same process
  std::string text;  // one write for each look: standard error, which has no buffer, would delay the reading of the streams
  if (begun - process.lines > border::kLogEntries) {
    text = fmt::format("{}: {} lines lost\n", target.pid(), begun - process.lines - border::kLogEntries);
    process.lines = begun - border::kLogEntries;
  }
  for (; process.lines < begun; ++process.lines) {
    const border::LogEntry& e = entries[process.lines % border::kLogEntries];
    if (e.number.load(std::memory_order_acquire) != process.lines + 1)
      break;  // not complete, or written over: the next look tells
    fmt::format_to(std::back_inserter(text), "{} {}: {:.{}}\n", target.pid(), e.tid, e.text, sizeof e.text - 1);
  }
  if (std::fwrite(text.data(), 1, text.size(), log_) != text.size() || std::fflush(log_) != 0) fail("--debug-engine", log_name_, errno);
}

// No reason to end a run.
void EngineDiagnosis::fail(const char* option, const std::string& path, int error) {
  if (problem_.empty()) problem_ = fmt::format("{}: cannot write {}: {}", option, path, std::strerror(error));
}

// Under a temporary name first: perf and gdb may read it at any time. In a folder that others write to: never through what somebody laid
// there, also not between the unlink and the open.
void EngineDiagnosis::replace_file(const std::string& path, const std::string& contents) {
  const std::string temporary = path + ".new";
  unlink(temporary.c_str());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return fail("--perf-map", path, errno);
  const int error = write_all(file, contents);
  if (error == 0 && rename(temporary.c_str(), path.c_str()) == 0) return;
  fail("--perf-map", path, error != 0 ? error : errno);
  unlink(temporary.c_str());
}

std::string EngineDiagnosis::name_of(Process& process, uint64_t pc) {
  if (pc == 0) return "engine routines";
  const auto entry = std::find_if(process.maps.begin(), process.maps.end(),
                                  [&](const MapsEntry& e) { return pc >= e.start && pc < e.end; });
  if (entry == process.maps.end() || !entry->path.starts_with("/")) return fmt::format("{:#x}", pc);
  auto& module = modules_[entry->path];
  if (module == nullptr) module = std::make_unique<analysis::ModuleSymbols>(entry->path);
  const uint64_t offset = pc - entry->start + entry->offset;
  const std::string file = entry->path.substr(entry->path.rfind('/') + 1);
  const auto address = module->problem().empty() ? module->address_of_offset(offset) : std::nullopt;
  const std::vector<analysis::SourceFrame> frames =
      address ? module->frames(*address) : std::vector<analysis::SourceFrame>();
  if (frames.empty() || frames[0].function.empty()) return fmt::format("{}+{:#x}", file, offset);
  return fmt::format("{} [{}+{:#x}]", frames[0].function, file, offset);
}

void EngineDiagnosis::name_code(const host::Target& target, Process& process) {
  const border::ProcessHeader& h = target.header();
  if (h.code_map_offset == 0) return;
  const auto* const entries =
      reinterpret_cast<const border::CodeMapEntry*>(static_cast<const char*>(target.mapping()) + h.code_map_offset);
  const uint32_t count = std::min(h.code_mapped.load(std::memory_order_acquire), border::kCodeMapEntries);
  if (std::vector<MapsEntry> maps = known_mappings(target.pid()); !maps.empty()) process.maps = std::move(maps);
  if (count == process.entries) return;
  if (count < process.entries) process.entries = 0, process.code.clear();
  for (; process.entries < count; ++process.entries) {
    const border::CodeMapEntry& e = entries[process.entries];
    const std::string name = name_of(process, e.pc);
    for (const auto& [offset, bytes, kind] :
         {std::tuple(e.hot, e.hot_bytes, ""), std::tuple(e.cold, e.cold_bytes, " exit")})
      if (bytes != 0) process.code[view_for(process.maps, e.pc, h.code_base) + offset] = {bytes, name + kind};
  }
  std::string map;
  std::vector<CodeSymbol> symbols;
  uint64_t end = 0;
  for (const auto& [address, named] : process.code) {
    if (address < end) continue;  // of before a flush, and partly replaced
    end = address + named.bytes;
    map += fmt::format("{:x} {:x} simrun: {}\n", address, named.bytes, named.name);
    symbols.push_back({address, named.bytes, "simrun: " + named.name});
  }
  replace_file(fmt::format("/tmp/perf-{}.map", target.pid()), map);
  replace_file(fmt::format("/tmp/simrun-{}.elf", target.pid()), symbol_file(symbols));
}

// Sections: null, .text without contents over all symbols, .symtab, .strtab, .shstrtab.
std::string symbol_file(const std::vector<CodeSymbol>& symbols) {
  static constexpr char kNames[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
  std::string strings(1, '\0');
  std::vector<Elf64_Sym> table(1);
  uint64_t first = ~uint64_t{0}, last = 0;
  for (const CodeSymbol& s : symbols) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = s.address, symbol.st_size = s.bytes;
    table.push_back(symbol);
    strings += s.name + '\0';
    first = std::min(first, s.address), last = std::max(last, s.address + s.bytes);
  }
  if (symbols.empty()) first = 0;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB, header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC, header.e_machine = EM_X86_64, header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header, header.e_shentsize = sizeof(Elf64_Shdr), header.e_shnum = 5, header.e_shstrndx = 4;
  Elf64_Shdr sections[5]{};
  const uint64_t table_bytes = table.size() * sizeof(Elf64_Sym);
  uint64_t at = sizeof header;
  sections[1] = {1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, first, at, last - first, 0, 0, 1, 0};
  sections[2] = {7, SHT_SYMTAB, 0, 0, at, table_bytes, 3, 1, 8, sizeof(Elf64_Sym)};
  at += table_bytes;
  sections[3] = {15, SHT_STRTAB, 0, 0, at, strings.size(), 0, 0, 1, 0};
  at += strings.size();
  sections[4] = {23, SHT_STRTAB, 0, 0, at, sizeof kNames, 0, 0, 1, 0};
  header.e_shoff = at + sizeof kNames;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(table.data()), table_bytes);
  file += strings;
  file.append(kNames, sizeof kNames);
  file.append(reinterpret_cast<const char*>(sections), sizeof sections);
  return file;
}

}  // namespace simrun::cli

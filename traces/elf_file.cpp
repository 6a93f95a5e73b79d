#include "traces/elf_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace simrun::traces {

namespace {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path, std::ios::binary) {
    file_.seekg(0, std::ios::end);
    bytes_ = static_cast<uint64_t>(std::max<std::streamoff>(file_.tellg(), 0));
    valid_ = file_ && read(0, &header_, sizeof header_) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
             header_.e_ident[EI_CLASS] == ELFCLASS64;
  }

  std::vector<Elf64_Phdr> segments() {
    if (!valid_ || header_.e_phentsize != sizeof(Elf64_Phdr)) return {};
    return table<Elf64_Phdr>(header_.e_phoff, uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr));
  }
  std::vector<Elf64_Shdr> sections() {
    if (!valid_ || header_.e_shentsize != sizeof(Elf64_Shdr)) return {};
    return table<Elf64_Shdr>(header_.e_shoff, uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr));
  }
  // Empty when it does not lie in the file: a damaged one cannot ask for more memory than it has bytes.
  template <class T>
  std::vector<T> table(uint64_t offset, uint64_t bytes) {
    if (offset > bytes_ || bytes > bytes_ - offset) return {};
    std::vector<T> items(bytes / sizeof(T));
    if (!items.empty() && !read(offset, items.data(), items.size() * sizeof(T))) return {};
    return items;
  }

 private:
  bool read(uint64_t offset, void* to, uint64_t bytes) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  }

  std::ifstream file_;
  uint64_t bytes_ = 0;
  Elf64_Ehdr header_{};
  bool valid_ = false;
};

std::string find_build_id(const std::vector<char>& notes) {
  const auto aligned = [](uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; };
  uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const uint64_t name = at + sizeof note, value = name + aligned(note.n_namesz), end = value + aligned(note.n_descsz);
    if (end > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      std::string text;
      for (uint32_t k = 0; k < note.n_descsz; ++k)
        text += fmt::format("{:02x}", static_cast<unsigned char>(notes[value + k]));
      return text;
    }
    at = end;
  }
  return {};
}

// Link-time addresses.
std::vector<uint64_t> find_functions(ElfFile& file, const std::function<bool(std::string_view)>& is_wanted) {
  std::vector<uint64_t> found;
  const std::vector<Elf64_Shdr> sections = file.sections();
  for (const Elf64_Shdr& s : sections) {
    if ((s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) || s.sh_link >= sections.size()) continue;
    const auto symbols = file.table<Elf64_Sym>(s.sh_offset, s.sh_size);
    const auto names = file.table<char>(sections[s.sh_link].sh_offset, sections[s.sh_link].sh_size);
    for (const Elf64_Sym& symbol : symbols) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
      const char* const start = names.data() + symbol.st_name;
      const std::string_view name(start, strnlen(start, names.size() - symbol.st_name));
      if (is_wanted(name.substr(0, name.find('@')))) found.push_back(symbol.st_value);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

std::string build_id_of(const std::string& path) {
  ElfFile file(path);
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > 1 << 20) continue;
    if (std::string id = find_build_id(file.table<char>(segment.p_offset, segment.p_filesz)); !id.empty()) return id;
  }
  return {};
}

std::vector<uint64_t> functions_named(const Module& module, const std::string& name) {
  return functions_where(module, [&](std::string_view symbol) { return symbol == name; });
}

std::vector<uint64_t> functions_where(const Module& module, const std::function<bool(std::string_view)>& is_wanted) {
  ElfFile file(module.path);
  const std::vector<Elf64_Phdr> segments = file.segments();
  std::vector<uint64_t> addresses;
  for (const uint64_t address : find_functions(file, is_wanted)) {
    for (const Elf64_Phdr& segment : segments) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz) continue;
      const uint64_t offset = address - segment.p_vaddr + segment.p_offset;
      if (offset >= module.file_offset && offset - module.file_offset < module.end - module.start)
        addresses.push_back(module.start + (offset - module.file_offset));
    }
  }
  return addresses;
}

}  // namespace simrun::traces

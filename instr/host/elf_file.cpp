#include "instr/host/elf_file.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>

namespace simrun::host {
namespace {

bool read_at(int descriptor, void* to, size_t bytes, uint64_t offset) {
  return pread(descriptor, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

ElfKind kind_of(const Elf64_Ehdr& h) {
  if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return ElfKind::kNotElf;
  // e_machine lies at the same offset in both classes.
  if (h.e_machine != EM_X86_64 && h.e_machine != EM_386) return ElfKind::kOtherMachine;
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine == EM_386) return ElfKind::k32Bit;
  return ElfKind::kX8664;
}

bool read_interpreter(int descriptor, const Elf64_Phdr& p, std::string& path) {
  if (p.p_filesz == 0 || p.p_filesz > 4096) return false;
  path.resize(p.p_filesz);
  if (!read_at(descriptor, path.data(), path.size(), p.p_offset)) return false;
  path.resize(std::strlen(path.c_str()));
  return true;
}

}  // namespace

bool read_elf(int descriptor, ElfFile& elf) {
  Elf64_Ehdr h{};
  const ssize_t got = pread(descriptor, &h, sizeof h, 0);
  if (got < static_cast<ssize_t>(sizeof(Elf32_Ehdr))) return true;  // too short for any ELF file: kNotElf
  elf.kind = kind_of(h);
  elf.machine = h.e_machine;
  if (elf.kind != ElfKind::kX8664) return true;
  if (got < static_cast<ssize_t>(sizeof h) || h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum == 0) return false;
  elf.entry = h.e_entry;
  elf.headers_offset = h.e_phoff;
  elf.headers = h.e_phnum;
  std::vector<Elf64_Phdr> headers(h.e_phnum);
  if (!read_at(descriptor, headers.data(), headers.size() * sizeof(Elf64_Phdr), h.e_phoff)) return false;
  for (const Elf64_Phdr& p : headers) {
    if (p.p_type == PT_INTERP && !read_interpreter(descriptor, p, elf.interpreter)) return false;
    if (p.p_type == PT_LOAD) elf.segments.push_back({p.p_vaddr, p.p_offset, p.p_filesz, p.p_memsz, p.p_flags});
  }
  return !elf.segments.empty();
}

}  // namespace simrun::host

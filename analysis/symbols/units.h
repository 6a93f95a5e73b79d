// The units of one module's debug information by the addresses of their code. Compilers other than GCC write no
// .debug_aranges, by which libdw would find them, so the units are asked themselves.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simrun::analysis {

// Where the content of a unit is: of a skeleton (-gsplit-dwarf) in its .dwo file, if that is where it was made.
Dwarf_Die content_of(Dwarf_Die* unit);

// The file that `attribute` of `die` (its declaration, its call) stands for; empty: unknown. (dwarf_decl_file() of
// elfutils 0.188 ends the program when it is asked about a .dwo file.)
std::string file_of(Dwarf_Die* die, unsigned attribute);

// The function around an address and the calls inlined there, the innermost last. (dwarf_getscopes() does not look into
// namespaces, where compilers other than GCC put their functions.)
std::vector<Dwarf_Die> calls_around(Dwarf_Die content, Dwarf_Addr address);

struct Unit {
  Dwarf_Die* die;   // where its line table is
  Dwarf_Addr bias;  // of the module's addresses beyond those of its debug information
};

class Units {
 public:
  // `module` must outlive this.
  explicit Units(Dwfl_Module* module);

  // Null: none has code there.
  const Unit* at(uint64_t address) const;

 private:
  struct Code {
    uint64_t end;
    Unit unit;
  };
  std::map<uint64_t, Code> code_;  // by start
};

}  // namespace simrun::analysis

// Names in one ELF file, by libdw. Debug information comes from the file itself or from a separate file that libdw
// finds by build id or debug link. Without any, symbol tables alone answer. Addresses are those of the file (link
// time). Everything is read when it is first asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace simrun::analysis {

// A function that an address lies in; inlined functions have several frames, the innermost first.
struct SourceFrame {
  std::string function;  // demangled
  std::string file;      // empty: unknown
  uint32_t line = 0;     // 0: unknown
  bool operator==(const SourceFrame&) const = default;
};

// A byte of a variable.
struct VariablePlace {
  std::string name;            // demangled, with its namespace or function as far as known
  bool in_nameless_function = false;   // which is "?()" in the name: the debug information has no other
  uint64_t offset = 0;         // of the byte in the variable
  uint64_t size = 0;           // of the variable, 0: unknown
  std::string member;          // "[3].hits": the innermost member or element at the offset; empty: the whole
  uint64_t member_offset = 0;  // where that member starts in the variable
  uint64_t member_size = 0;    // 0: unknown
  uint64_t element_size = 0;   // of the outermost array that the byte lies in, 0: none
  std::string file;            // declaration
  uint32_t line = 0;
};

struct FunctionSymbol {
  std::string name;  // as in the symbol table, mangled
  uint64_t address;
};

// A function as it was linked, what was inlined into it included.
struct LinkedFunction {
  std::string name;  // demangled
  uint64_t end;      // address behind it
};

class ModuleSymbols {
 public:
  explicit ModuleSymbols(std::string path);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  const std::string& path() const { return path_; }
  // Not empty: why the file cannot be read. Then nothing else has an answer.
  const std::string& problem() const { return problem_; }
  // In hexadecimal; empty: the file has none.
  const std::string& build_id() const { return build_id_; }

  // File address of the code at `offset` of the file, or of the page that its mapping begins with, by its loadable
  // segments.
  std::optional<uint64_t> address_of_offset(uint64_t offset) const;
  // Behind the last byte of its last segment, zeroed memory included; 0: it has none.
  uint64_t end_address() const { return end_address_; }
  // Defined functions whose names are among `names`.
  std::vector<FunctionSymbol> functions(const std::vector<std::string>& names);
  // Empty when nothing is known of the address.
  std::vector<SourceFrame> frames(uint64_t address);
  // By the symbol table alone.
  std::optional<LinkedFunction> function(uint64_t address);
  std::optional<VariablePlace> variable(uint64_t address);
  // `offset` from the start of the module's thread-local block.
  std::optional<VariablePlace> thread_local_variable(uint64_t offset);
  // Distance of the thread-local block of the executable below the thread pointer (x86-64 ABI, variant II); 0: it has
  // none.
  uint64_t thread_local_bytes() const { return thread_local_bytes_; }

 private:
  struct Implementation;
  std::string path_, problem_, build_id_;
  uint64_t thread_local_bytes_ = 0, end_address_ = 0;
  std::unique_ptr<Implementation> implementation_;
};

// "int f(int)" of "_Z1fi", "f(int)@plt" of "_Z1fi@plt"; what is no mangled name comes back as it is.
std::string demangle(const std::string& name);

}  // namespace simrun::analysis

#include "cli/find_functions.h"

#include <algorithm>

#include "analysis/symbols/module_symbols.h"
#include "traces/elf_file.h"

namespace simrun::cli {

namespace {

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

}  // namespace

std::string without_parameters(const std::string& demangled) {
  const size_t close = demangled.substr(0, demangled.find(" [clone")).rfind(')');
  size_t open = close, depth = 0;
  for (; open != std::string::npos; --open) {  // runs below 0 into npos
    depth += demangled[open] == ')';
    depth -= demangled[open] == '(';
    if (depth == 0) break;
  }
  if (open == std::string::npos || open == 0 || demangled.substr(0, open).ends_with("operator")) return demangled;
  const std::string name = demangled.substr(0, open);
  if (!name.ends_with('>') || name.find("operator") != std::string::npos) return name;
  for (size_t at = name.size(); at-- > 0;) {
    depth += name[at] == '>';
    depth -= name[at] == '<';
    if (depth == 0 && name[at] == ' ') return name.substr(at + 1);
  }
  return name;
}

std::vector<uint64_t> find_functions(const traces::Module& module, const std::string& name) {
  std::vector<uint64_t> found = traces::functions_named(module, name);
  if (!found.empty()) return found;
  const std::string wanted = without_spaces(name);
  return traces::functions_where(module, [&](std::string_view symbol) {
    if (!symbol.starts_with("_Z") && !symbol.starts_with("_R")) return false;
    const std::string known = analysis::demangle(std::string(symbol));
    return without_spaces(known) == wanted || without_spaces(without_parameters(known)) == wanted;
  });
}

}  // namespace simrun::cli

// Code that a profile does not count: what `--leave-out` names. What threads execute while they wait depends on the
// host, whether a library has the loop that they wait in or the program itself.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbols/module_symbols.h"
#include "simpoint/profile.h"

namespace simrun::cli {

// MODULE, MODULE:FUNCTION or MODULE:0xFROM-0xTO. The first two are patterns (fnmatch): of a path or file name; of a
// function's name, also one that was inlined. Addresses are those of the file, as a disassembler prints them; TO is not
// among them.
struct LeftOutPattern {
  std::string text, module, function;
  uint64_t from = 0, to = 0;  // no addresses are meant: 0
};

// Empty: not of that form; `why` says what is wrong.
std::optional<LeftOutPattern> read_left_out(const std::string& text, std::string& why);

class LeftOut {
 public:
  // Throws UserError.
  explicit LeftOut(const std::vector<std::string>& patterns);

  // Whether the code that begins there is not counted.
  bool covers(const simpoint::CodePlace& place);
  // Those that have covered nothing.
  std::vector<std::string> unused() const;

 private:
  bool covers(const LeftOutPattern& pattern, const simpoint::CodePlace& place);
  analysis::ModuleSymbols* symbols_of(const std::string& path);

  std::vector<LeftOutPattern> patterns_;
  std::vector<bool> used_;
  std::map<std::string, std::unique_ptr<analysis::ModuleSymbols>> symbols_;
};

}  // namespace simrun::cli

// make_known_forms LIST OUTPUT: learns the forms of the instructions in LIST, hexadecimal and apart by white space, and writes them as
// known_forms.h has them in memory. Runs while simrun is built.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <type_traits>

#include "instr/engine/decode/known_forms.h"

namespace {

using namespace simrun::engine;

static_assert(std::is_trivially_copyable_v<KnownForms>);

bool parse(const std::string& text, uint8_t (&code)[15]) {
  if (text.size() % 2 != 0 || text.size() > 30 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  std::memset(code, 0, sizeof code);
  for (size_t k = 0; k < text.size() / 2; ++k) code[k] = static_cast<uint8_t>(std::stoul(text.substr(2 * k, 2), nullptr, 16));
  return true;
}

// What the instruction is does not depend on the maker of the processor (instruction.h, g_narrow_branches).
bool is_same_everywhere(const uint8_t* code) {
  Instruction one, other;
  g_narrow_branches = true;
  const bool is_one = decode(code, 15, simrun::AppAddress{0}, one);
  g_narrow_branches = false;
  return is_one && decode(code, 15, simrun::AppAddress{0}, other) && one == other;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fputs("usage: make_known_forms LIST OUTPUT\n", stderr), 2;
  std::ifstream list(arguments[1]);
  const std::unique_ptr<KnownForms> forms(new KnownForms());
  uint8_t code[15];
  for (std::string text; list >> text;) {
    if (parse(text, code) && is_same_everywhere(code) && forms->add(code)) continue;
    std::fprintf(stderr, "%s: %s: no form that can be known, or known twice, or too many\n", arguments[1], text.c_str());
    return 1;
  }
  std::ofstream output(arguments[2], std::ios::binary);
  output.write(reinterpret_cast<const char*>(forms.get()), sizeof *forms);
  return list.eof() && output.flush() ? 0 : (std::perror(arguments[2]), 1);
}

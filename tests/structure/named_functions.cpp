#include "named_functions.h"

#include <regex>
#include <set>
#include <sstream>

namespace simrun::structure {
namespace {

namespace fs = std::filesystem;

// A definition or declaration starts its line with types; a call starts it with the name, with a keyword, or stands within an
// expression (then one of .(=> or a keyword is in front of it).
bool starts_like_definition(const std::string& before) {
  static const std::set<std::string> kStatements = {"return", "else", "case", "throw", "new", "delete", "co_return", "goto"};
  static const std::regex kTypes(R"(^[ \t]*(?:\[\[[\w:]+\]\][ \t]*)?((?:[A-Za-z_][\w:]*(?:<[^()]*>)?[ \t&*]+)+)$)");
  std::smatch match;
  if (!std::regex_match(before, match, kTypes)) return false;
  std::istringstream words(match[1]);
  for (std::string word; words >> word;)
    if (kStatements.contains(word)) return false;
  return true;
}

// A constructor has no type: Class::Class( at the start of a line, and no semicolon at its end.
bool is_constructor(const std::string& function, const std::string& before) {
  const size_t colons = function.find("::");
  return before.empty() && colons != std::string::npos && function.substr(0, colons) == function.substr(colons + 2);
}

}  // namespace

std::vector<NamedFunction> named_functions(const std::string& text) {
  static const std::regex kName(R"(`([\w./-]+\.(?:cpp|h|S|bash|py)):\s+([A-Za-z_][\w:]*)`)");
  std::vector<NamedFunction> names;
  for (std::sregex_iterator m(text.begin(), text.end(), kName), end; m != end; ++m) names.push_back({(*m)[1], (*m)[2]});
  return names;
}

bool defines(const std::string& source, const std::string& function) {
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);)
    for (size_t at = line.find(function + "("); at != std::string::npos; at = line.find(function + "(", at + 1)) {
      const std::string before = line.substr(0, at);
      if (starts_like_definition(before) || is_constructor(function, before)) return true;
    }
  return false;
}

Violations missing_functions(const fs::path& root, const fs::path& document) {
  Violations found;
  for (const auto& [file, function] : named_functions(read_all(root / document))) {
    if (!fs::is_regular_file(root / file))
      found.push_back(document.string() + ": there is no " + file);
    else if (!defines(read_all(root / file), function))
      found.push_back(document.string() + ": " + file + " does not define " + function);
  }
  return found;
}

}  // namespace simrun::structure

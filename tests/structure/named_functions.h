// Documents name functions as `path/file.cpp: function` or `path/file.cpp: Class::function`, in backticks. These rules keep the names
// true. Violations are one line each, empty when the rule holds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "source_tree.h"

namespace simrun::structure {

struct NamedFunction {
  std::string file;      // relative to the root
  std::string function;  // as written, with or without its class
};

// All names in a document's text, in order.
std::vector<NamedFunction> named_functions(const std::string& text);

// Whether `source` defines a function of that name. A call does not count. The class, if given, must stand before the name (definition
// outside of the class).
bool defines(const std::string& source, const std::string& function);

// The names in `document` (relative to root) whose file does not exist or does not define them.
Violations missing_functions(const std::filesystem::path& root, const std::filesystem::path& document);

}  // namespace simrun::structure

#include "cli/csv_report.h"

#include <fmt/format.h>

namespace simrun::cli {
namespace {

using Json = nlohmann::ordered_json;

void write_rows(std::string& to, const std::string& path, const Json& value) {
  if (value.is_number() || value.is_boolean()) {
    to += fmt::format("\"{}\",{}\n", path, value.is_boolean() ? (value.get<bool>() ? "1" : "0") : value.dump());
  } else if (value.is_string() && (path == "order" || path.find("/settings/") != std::string::npos)) {
    to += fmt::format("\"{}/{}\",1\n", path,
                      value.get<std::string>());  // numbers only, so that readers see a column of them
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) write_rows(to, path.empty() ? key : path + "/" + key, inner);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      const bool named = value[i].is_object() && value[i].contains("name");
      write_rows(to, path + "/" + (named ? value[i]["name"].get<std::string>() : std::to_string(i)), value[i]);
    }
  }
}

}  // namespace

std::string csv_report(const Json& results) {
  std::string text = "path,value\n";
  write_rows(text, "", results);
  return text;
}

}  // namespace simrun::cli

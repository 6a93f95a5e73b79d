// What tells a file from another that has come in its place, for results that are kept.
#pragma once

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace simrun::cli {

// Size and time of the last change; null: it is no file, or no plain one.
nlohmann::json identity_of(const struct stat& s);
nlohmann::json identity_of(const std::string& path);

// The program that `command` means; empty: there is none, which is said when it is to run.
std::string program_file(const std::vector<std::string>& command);

}  // namespace simrun::cli

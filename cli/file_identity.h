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
// Of a folder: how many entries it has, at whatever depth, and a hash of their names, kinds, sizes and times. Links are not followed. Of anything else as above.
nlohmann::json identity_of_tree(const std::string& path);

// The program that `command` means, with this value of PATH (null: none); empty: there is none, which is said when it is to run.
std::string program_file(const std::vector<std::string>& command, const char* search);

}  // namespace simrun::cli

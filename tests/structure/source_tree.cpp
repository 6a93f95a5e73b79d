#include "source_tree.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

namespace simrun::structure {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxSourceLines = 600;
constexpr int kMaxReadmeLines = 40;
constexpr std::string_view kRuleMark = "May include:";

bool is_source(const fs::path& file) {
  static const std::set<std::string> kExtensions = {".cpp", ".h", ".c", ".S", ".py", ".bash", ".sh", ".cmake"};
  return kExtensions.contains(file.extension().string());
}

bool is_cxx(const fs::path& file) { return file.extension() == ".cpp" || file.extension() == ".h"; }

// Whether `file` lies in `folder` or deeper; both relative to the root.
bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

struct Rule {
  fs::path folder;  // of the README
  std::vector<fs::path> allowed;
};

std::optional<Rule> read_rule(const fs::path& root, const fs::path& folder) {
  std::istringstream text(read_all(root / folder / "README.md"));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(kRuleMark)) continue;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line.substr(kRuleMark.size()));
    Rule rule{folder, {folder}};
    for (std::string word; words >> word;) rule.allowed.emplace_back(word);
    return rule;
  }
  return std::nullopt;
}

// The rule of the nearest folder that has one, from `folder` upwards; not that of the root.
std::optional<Rule> rule_for(const fs::path& root, fs::path folder) {
  for (; !folder.empty(); folder = folder.parent_path())
    if (auto rule = read_rule(root, folder)) return rule;
  return std::nullopt;
}

bool is_test(const fs::path& file) { return *file.begin() == "tests" || *file.begin() == "bench"; }

void check_include(const fs::path& root, const fs::path& file, const std::optional<Rule>& rule, const std::string& included,
                   Violations& found) {
  if (!fs::exists(root / included)) {
    const bool beside = is_test(file) && fs::exists(root / file.parent_path() / included);
    if (!beside) found.push_back(file.string() + ": \"" + included + "\" is not a path from the root of the tree");
    return;
  }
  if (!rule) return;
  const auto allows = [&](const fs::path& folder) { return lies_in(included, folder); };
  if (std::none_of(rule->allowed.begin(), rule->allowed.end(), allows))
    found.push_back(file.string() + ": may not include \"" + included + "\" (" + (rule->folder / "README.md").string() + ")");
}

std::map<std::string, std::string> read_exceptions(const fs::path& file) {
  std::map<std::string, std::string> reasons;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    if (line.empty() || line[0] == '#') continue;
    reasons[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return reasons;
}

}  // namespace

std::string read_all(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<fs::path> project_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    const fs::path relative = fs::relative(it->path(), root);
    if (it->is_directory()) {
      const bool skip = relative == "build" || (relative.filename().string()[0] == '.' && relative != ".ci") ||
                        relative.filename() == "__pycache__";
      if (skip) it.disable_recursion_pending();
    } else if (it->is_regular_file()) {
      files.push_back(relative);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Violations forbidden_includes(const fs::path& root) {
  static const std::regex kInclude(R"re(^[ \t]*#[ \t]*include[ \t]*"([^"]+)")re", std::regex::multiline);
  Violations found;
  for (const fs::path& file : project_files(root)) {
    if (!is_cxx(file)) continue;
    const std::optional<Rule> rule = rule_for(root, file.parent_path());
    if (!rule && !is_test(file))
      found.push_back(file.string() + ": no README.md with a line `" + std::string(kRuleMark) + "` in its folder or above");
    const std::string text = read_all(root / file);
    for (std::sregex_iterator m(text.begin(), text.end(), kInclude), end; m != end; ++m)
      check_include(root, file, rule, (*m)[1], found);
  }
  return found;
}

Violations machine_paths(const fs::path& root, const std::vector<std::string>& forbidden) {
  Violations found;
  for (const fs::path& file : project_files(root)) {
    const std::string text = read_all(root / file);
    for (const std::string& path : forbidden)
      if (text.find(path) != std::string::npos) found.push_back(file.string() + ": names " + path);
  }
  return found;
}

Violations long_files(const fs::path& root, const fs::path& exceptions) {
  Violations found;
  std::map<std::string, std::string> reasons = read_exceptions(exceptions);
  for (const fs::path& file : project_files(root)) {
    const bool readme = file.filename() == "README.md" && file.has_parent_path();
    if (!readme && !is_source(file)) continue;
    const std::string text = read_all(root / file);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (lines <= (readme ? kMaxReadmeLines : kMaxSourceLines)) continue;
    const auto reason = reasons.find(file.string());
    if (reason == reasons.end() || reason->second.empty())
      found.push_back(file.string() + ": " + std::to_string(lines) + " lines, and no reason given");
    if (reason != reasons.end()) reasons.erase(reason);
  }
  for (const auto& [path, reason] : reasons) found.push_back(path + ": listed as long, but is not");
  return found;
}

Violations unlisted_documents(const fs::path& root, const fs::path& folder) {
  static const std::regex kLink(R"re(\]\(([^)/:#]+\.md)\))re");
  const std::string text = read_all(root / folder / "README.md");
  std::map<std::string, int> links;
  for (std::sregex_iterator m(text.begin(), text.end(), kLink), end; m != end; ++m) ++links[(*m)[1]];
  for (const auto& entry : fs::directory_iterator(root / folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".md") && name != "README.md") --links[name];
  }
  Violations found;
  for (const auto& [name, difference] : links)
    if (difference != 0)
      found.push_back((folder / "README.md").string() + ": " + name + (difference < 0 ? " is not listed" : " is listed, but does not exist or is there already"));
  return found;
}

}  // namespace simrun::structure

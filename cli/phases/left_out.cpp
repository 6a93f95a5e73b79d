#include "cli/phases/left_out.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <charconv>

#include "base/user_error.h"
#include "cli/find_functions.h"

namespace simrun::cli {

namespace {

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// "0x1200"; false: it is none.
bool read_address(const std::string& word, uint64_t& address) {
  if (!word.starts_with("0x") || word.size() == 2) return false;
  const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), address, 16);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::optional<LeftOutPattern> read_left_out(const std::string& text, std::string& why) {
  const size_t colon = text.find(':');  // the function may have more: shop::sell
  LeftOutPattern made{text, text.substr(0, colon), {}};
  if (colon != std::string::npos) made.function = text.substr(colon + 1);
  if (made.module.empty() || (colon != std::string::npos && made.function.empty())) {
    why = fmt::format("'{}' is no MODULE, MODULE:FUNCTION or MODULE:0xFROM-0xTO", text);
    return std::nullopt;
  }
  if (!made.function.starts_with("0x")) return made;
  const size_t dash = made.function.find('-');
  if (dash == std::string::npos || !read_address(made.function.substr(0, dash), made.from) ||
      !read_address(made.function.substr(dash + 1), made.to) || made.from >= made.to) {
    why = fmt::format("'{}': addresses are given as 0xFROM-0xTO, the smaller one first", text);
    return std::nullopt;
  }
  made.function.clear();
  return made;
}

LeftOut::LeftOut(const std::vector<std::string>& patterns) : used_(patterns.size()) {
  for (const std::string& text : patterns) {
    std::string why;
    const auto pattern = read_left_out(text, why);
    if (!pattern) throw UserError("--leave-out " + why);
    patterns_.push_back(*pattern);
  }
}

bool LeftOut::covers(const simpoint::CodePlace& place) {
  for (size_t i = 0; i < patterns_.size(); ++i)
    if (covers(patterns_[i], place)) {
      used_[i] = true;
      return true;
    }
  return false;
}

bool LeftOut::covers(const LeftOutPattern& pattern, const simpoint::CodePlace& place) {
  const std::string name = place.module.substr(place.module.rfind('/') + 1);
  if (!matches(pattern.module, place.module) && !matches(pattern.module, name)) return false;
  if (pattern.function.empty() && pattern.to == 0) return true;
  analysis::ModuleSymbols* const symbols = symbols_of(place.module);
  const auto address = symbols != nullptr ? symbols->address_of_offset(place.offset) : std::nullopt;
  if (!address) return false;
  if (pattern.to != 0) return *address >= pattern.from && *address < pattern.to;
  const std::string wanted = analysis::demangle(pattern.function);
  for (const analysis::SourceFrame& frame : symbols->frames(*address))
    if (matches(wanted, frame.function) || matches(wanted, without_parameters(frame.function))) return true;
  return false;
}

analysis::ModuleSymbols* LeftOut::symbols_of(const std::string& path) {
  if (!path.starts_with('/')) return nullptr;
  auto& symbols = symbols_[path];
  if (symbols == nullptr) symbols = std::make_unique<analysis::ModuleSymbols>(path);
  return symbols.get();
}

std::vector<std::string> LeftOut::unused() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < patterns_.size(); ++i)
    if (!used_[i]) texts.push_back(patterns_[i].text);
  return texts;
}

}  // namespace simrun::cli

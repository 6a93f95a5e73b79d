// Typed values out of YAML nodes, and the messages when they are not there.
#include "configs/strict_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/nearest_word.h"
#include "base/parse_quantity.h"
#include "base/user_error.h"

namespace simrun::configs {

namespace {

const char* type_name(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return "a value";
    default:
      return "nothing";
  }
}

// Bytes per unit; 0 for an unknown one.
uint64_t unit_bytes(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  if (unit == "KiB") return uint64_t{1} << 10;
  if (unit == "MiB") return uint64_t{1} << 20;
  if (unit == "GiB") return uint64_t{1} << 30;
  return 0;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string meant = nearest_word(word, known);
  return meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant);
}

}  // namespace

bool is_valid_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

bool is_plain_text(const std::string& text) {
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; };
  return is_valid_utf8(text) && std::none_of(text.begin(), text.end(), is_control);
}

void fail_at(const std::string& file, const YAML::Mark& mark, const std::string& message) {
  if (mark.is_null()) throw UserError(fmt::format("{}: {}", file, message), 2);
  throw UserError(fmt::format("{}:{}:{}: {}", file, mark.line + 1, mark.column + 1, message), 2);
}

StrictMap::StrictMap(std::string file, const YAML::Node& node, std::string what,
                     const std::vector<std::string>& known_keys)
    : file_(std::move(file)), node_(node), what_(std::move(what)) {
  if (!node.IsMap())
    fail_at(file_, node.Mark(), fmt::format("{} must be a mapping of keys to values, not {}", what_, type_name(node)));
  std::vector<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) fail_at(file_, entry.first.Mark(), fmt::format("a key of {} must be a word", what_));
    const std::string& key = entry.first.Scalar();
    if (std::find(known_keys.begin(), known_keys.end(), key) == known_keys.end())
      fail_at(file_, entry.first.Mark(),
              fmt::format("unknown key '{}' in {}{} (known keys: {})", key, what_, did_you_mean(key, known_keys), fmt::join(known_keys, ", ")));
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      fail_at(file_, entry.first.Mark(), fmt::format("key '{}' of {} is given twice", key, what_));
    seen.push_back(key);
  }
}

std::optional<YAML::Node> StrictMap::find(const std::string& key) const {
  for (const auto& entry : node_)
    if (entry.first.Scalar() == key) return entry.second;
  return std::nullopt;
}

YAML::Node StrictMap::required(const std::string& key) const {
  if (auto node = find(key)) return *node;
  fail_at(file_, node_.Mark(), fmt::format("{} lacks the key '{}'", what_, key));
}

YAML::Mark StrictMap::mark(const std::string& key) const {
  // A key with nothing behind it has no useful position of its own: point at the key.
  for (const auto& entry : node_)
    if (entry.first.Scalar() == key) return entry.second.IsNull() ? entry.first.Mark() : entry.second.Mark();
  return node_.Mark();
}

void StrictMap::fail(const std::string& key, const std::string& message) const { fail_at(file_, mark(key), message); }

std::string StrictMap::scalar(const std::string& key, const char* wanted) const {
  const YAML::Node node = required(key);
  if (!node.IsScalar()) fail(key, fmt::format("'{}' of {} must be {}, not {}", key, what_, wanted, type_name(node)));
  return node.Scalar();
}

std::string StrictMap::text(const std::string& key) const {
  std::string value = scalar(key, "a text");
  if (!is_plain_text(value)) fail(key, fmt::format("'{}' of {} must be a text in UTF-8 without control characters", key, what_));
  return value;
}

std::vector<std::string> StrictMap::texts(const std::string& key) const {
  const YAML::Node list = required(key);
  if (!list.IsSequence())
    fail(key, fmt::format("'{}' of {} must be a list of words, such as [a, \"b c\"], not {}", key, what_, type_name(list)));
  std::vector<std::string> words;
  for (const auto& word : list) {
    if (!word.IsScalar() || !is_plain_text(word.Scalar()))
      fail_at(file_, word.Mark(), fmt::format("a word of '{}' of {} must be a text in UTF-8 without control characters{}", key, what_, word.IsNull() ? "; put it in quotes" : ""));
    words.push_back(word.Scalar());
  }
  return words;
}

std::vector<std::pair<std::string, std::string>> StrictMap::named_texts(const std::string& key) const {
  const YAML::Node map = required(key);
  if (!map.IsMap()) fail(key, fmt::format("'{}' of {} must be a mapping of names to texts, not {}", key, what_, type_name(map)));
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& entry : map) {
    const bool is_text = entry.first.IsScalar() && entry.second.IsScalar() && is_plain_text(entry.first.Scalar()) && is_plain_text(entry.second.Scalar());
    if (!is_text) fail_at(file_, entry.first.Mark(), fmt::format("'{}' of {} must map names to texts in UTF-8 (\"\" is an empty one)", key, what_));
    const auto same = [&](const auto& other) { return other.first == entry.first.Scalar(); };
    if (std::any_of(all.begin(), all.end(), same)) fail_at(file_, entry.first.Mark(), fmt::format("'{}' of {} is given twice in '{}'", entry.first.Scalar(), what_, key));
    all.emplace_back(entry.first.Scalar(), entry.second.Scalar());
  }
  return all;
}

uint32_t StrictMap::count(const std::string& key) const { return to_count(key, scalar(key, "a whole number")); }

uint32_t StrictMap::to_count(const std::string& key, const std::string& value) const {
  uint32_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error == std::errc::result_out_of_range)
    fail(key, fmt::format("'{}' of {} is {}, more than {}", key, what_, value, UINT32_MAX));
  if (error != std::errc{} || end != value.data() + value.size())
    fail(key, fmt::format("'{}' of {} must be a whole number of at least 0, not '{}'", key, what_, value));
  return result;
}

double StrictMap::number(const std::string& key) const {
  const std::string value = scalar(key, "a number");
  double result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc{} || end != value.data() + value.size() || !(result >= 0) || !std::isfinite(result))
    fail(key, fmt::format("'{}' of {} must be a number of at least 0, such as 0.25, not '{}'", key, what_, value));
  return result;
}

uint64_t StrictMap::size(const std::string& key) const {
  const std::string value = scalar(key, "a size in bytes");
  double number = 0;
  std::string_view unit;
  if (!split_quantity(value, &number, &unit) || !(number >= 0))
    fail(key, fmt::format("'{}' of {} must be a size such as 32KiB, 1.5MiB or 4096, not '{}'", key, what_, value));
  if (unit_bytes(unit) == 0)
    fail(key, fmt::format(
                  "'{}' of {} has the unknown unit '{}' (known: B, KiB, MiB, GiB, powers of 1024){}",
                  key, what_, unit, did_you_mean(std::string(unit), {"KiB", "MiB", "GiB", "B"})));
  const double bytes = number * static_cast<double>(unit_bytes(unit));
  if (bytes > 0x1p53) fail(key, fmt::format("'{}' of {} is {}, which is too large", key, what_, value));
  if (bytes != std::floor(bytes))
    fail(key, fmt::format("'{}' of {} is {}, which is no whole number of bytes", key, what_, value));
  return static_cast<uint64_t>(bytes);
}

size_t StrictMap::choice(const std::string& key, const std::vector<std::string>& words) const {
  if (!has(key)) return 0;
  const std::string value = scalar(key, "a word");
  const auto position = std::find(words.begin(), words.end(), value);
  if (position == words.end())
    fail(key, fmt::format("'{}' of {} cannot be '{}'; possible: {}", key, what_, value, fmt::join(words, ", ")));
  return static_cast<size_t>(position - words.begin());
}

}  // namespace simrun::configs

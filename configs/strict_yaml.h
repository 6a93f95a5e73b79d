// YAML values that are taken key by key: what is missing, of the wrong type, given twice or left over is a UserError
// with its position. Independent of what is described.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace simrun::configs {

// One line for the user, with position and exit status 2. Lines and columns count from 1.
[[noreturn]] void fail_at(const std::string& file, const YAML::Mark& mark, const std::string& message);

bool is_valid_utf8(const std::string& text);

// A text in UTF-8 without control characters but the ends of lines and tabs: it gets into results.
bool is_plain_text(const std::string& text);

// What `build` makes of the one document that `text` is; `noun`: "a machine". Throws UserError for what is no YAML.
template <class T, class Build>
T read_document(const std::string& text, const std::string& file, const char* noun, Build build) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) fail_at(file, documents[1].Mark(), std::string("a second document; ") + noun + " file is one");
    return build(documents.empty() ? YAML::Node() : documents[0]);
  } catch (const YAML::Exception& e) {
    fail_at(file, e.mark, "not valid YAML: " + e.msg);
  }
}

// A mapping whose keys are all known. Construction checks type, duplicates and unknown keys; the getters take values.
class StrictMap {
 public:
  // `what` names the mapping in messages ("level L2", "the machine").
  StrictMap(std::string file, const YAML::Node& node, std::string what, const std::vector<std::string>& known_keys);

  bool has(const std::string& key) const { return find(key).has_value(); }
  // Throws if the key is missing.
  YAML::Node required(const std::string& key) const;
  std::optional<YAML::Node> find(const std::string& key) const;

  std::string text(const std::string& key) const;
  // A list of texts.
  std::vector<std::string> texts(const std::string& key) const;
  // A mapping of any names to texts, in the file's order.
  std::vector<std::pair<std::string, std::string>> named_texts(const std::string& key) const;
  uint32_t count(const std::string& key) const;
  // A number of at least 0 with or without a fraction.
  double number(const std::string& key) const;
  // Bytes: "64", "32KiB", "1.5 MiB", "1GiB".
  uint64_t size(const std::string& key) const;
  // One of `words`; the first when the key is missing. Returns its index.
  size_t choice(const std::string& key, const std::vector<std::string>& words) const;

  // Where to point for a complaint about `key`: its value, or the mapping.
  YAML::Mark mark(const std::string& key) const;
  const std::string& file() const { return file_; }
  [[noreturn]] void fail(const std::string& key, const std::string& message) const;
  // A number from its scalar, for values that may also be words.
  uint32_t to_count(const std::string& key, const std::string& value) const;

 private:
  std::string scalar(const std::string& key, const char* wanted) const;

  std::string file_;
  YAML::Node node_;
  std::string what_;
};

}  // namespace simrun::configs

// What options take: each kind of value has one reader and one message, which says what is taken. To transform() an
// option's word; CLI11's own validators print their maps and limits as they are in memory.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace simrun::cli {

// A number of instructions as people write it (base/parse_count.h), within bounds.
CLI::Validator instruction_count(uint64_t least = 0, uint64_t most = uint64_t{1} << 60);

// "4096", within bounds.
CLI::Validator whole_number(uint64_t least, uint64_t most);

// "0.5", within bounds.
CLI::Validator real_number(double least, double most);
// Above 0.
CLI::Validator positive_number();

// Bytes: "65536", "256KiB", "1.5MiB" (K, KB and KiB mean the same: 1024), within bounds.
CLI::Validator size_in_bytes(uint64_t least, uint64_t most);

// "500ms", "10s", "5m", "1h"; without a unit seconds. Above 0; becomes seconds.
CLI::Validator duration();

// One of `words`; stays, or becomes its place among them.
enum class ChoiceBecomes : uint8_t { kWord, kPlace };
CLI::Validator one_of(std::vector<std::string> words, ChoiceBecomes becomes);
// "a|b|c": the type of an option that takes one of them. The shells' completion reads it (completion_command.cpp).
std::string alternatives(const std::vector<std::string>& words);

// An option that takes one of a few words, each of which means a value.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& names, T& to, const std::string& text, const Choices<T>& choices) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  const auto take = [&to, choices](const size_t& place) { to = choices[place].second; };
  return app.add_option_function<size_t>(names, take, text)
      ->transform(one_of(words, ChoiceBecomes::kPlace))
      ->type_name(alternatives(words));
}

}  // namespace simrun::cli

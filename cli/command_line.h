// What the sub-commands' command lines have in common: CLI11 with errors as UserError, help as TextWanted, and the
// program's words kept apart from ours.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_values.h"

namespace simrun::cli {

using Words = std::vector<std::string>;

// Thrown for --help and --version: print it on standard output and end with status 0.
struct TextWanted {
  std::string text;
};

// What --interval accepts, in every command that has it.
constexpr uint64_t kShortestInterval = 1000, kLongestInterval = uint64_t{1} << 50;

// As the only word: throws TextWanted with the options, for the shells' completion (completion_command.cpp). A line
// each: the names, a tab, the type of the value (none: a flag). A name without dashes is of a word by itself; PROGRAM
// is the program with all that follows it.
constexpr const char* kDescribeOptions = "--describe-options";

// A CLI11 application with our help flag. `usage`: one line, or several.
class CommandLine {
 public:
  CommandLine(std::string name, std::string usage, std::string description);

  CLI::App& app() { return app_; }

  // Options and the sub-command's own words. Throws TextWanted, or UserError with exit status 2.
  void parse(Words words);
  // Options, then the program with its arguments: behind `--`, or from the first word that is no option. Returns those;
  // throws UserError when there are none. Throws likewise.
  Words parse_with_program(const Words& words);

  // Whether the words that were parsed have this option.
  bool has(const std::string& option) const { return app_.count(option) != 0; }

  // Throws UserError, exit status 2, with a pointer to the help.
  [[noreturn]] void usage_error(const std::string& what) const;

 private:
  std::string help() const;
  std::string descriptions() const;
  // What CLI11 found wrong, in our words.
  std::string in_our_words(const CLI::ParseError& error) const;
  std::string unknown_word(const std::string& word) const;

  std::string name_, usage_;
  CLI::App app_;
  bool takes_program_ = false;
};

}  // namespace simrun::cli

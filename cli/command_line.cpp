#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/parse_count.h"
#include "base/user_error.h"

namespace simrun::cli {

CLI::Validator instruction_count(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [=](std::string& word) -> std::string {
        uint64_t count = 0;
        if (!parse_count(word, &count)) return word + " is no number of instructions (1000000, 10M, 1.5G)";
        if (count < least || count > most) return fmt::format("{} is not from {} to {}", word, least, most);
        word = std::to_string(count);
        return "";
      },
      "");
}

CommandLine::CommandLine(std::string name, std::string usage, std::string description)
    : name_(std::move(name)), usage_(std::move(usage)), app_(std::move(description), name_) {
  app_.set_help_flag("-h,--help", "This text");
}

void CommandLine::usage_error(const std::string& what) const {
  throw UserError(what + "\nTry: " + name_ + " --help", 2);
}

// CLI11's text with our usage lines in the place of its own.
std::string CommandLine::help() const {
  std::string text = app_.help();
  const size_t usage = text.find("Usage:");
  if (usage != std::string::npos) text.replace(usage, text.find('\n', usage) - usage, "Usage: " + usage_);
  return text;
}

void CommandLine::parse(Words words) {
  std::reverse(words.begin(), words.end());  // CLI11 wants them last first
  try {
    app_.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    throw TextWanted{help()};
  } catch (const CLI::CallForVersion& version) {
    throw TextWanted{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
}

Words CommandLine::parse_with_program(const Words& words) {
  const auto bar = std::find(words.begin(), words.end(), "--");
  app_.prefix_command();
  parse({words.begin(), bar});
  Words rest = app_.remaining();
  const bool explicitly = bar != words.end();
  if (!rest.empty() && (explicitly || rest[0].starts_with("-"))) usage_error("unknown option or word: " + rest[0]);
  if (explicitly) rest.assign(bar + 1, words.end());
  if (rest.empty()) usage_error("no program to run: " + name_ + " [OPTIONS] -- PROGRAM ARGUMENTS...");
  return rest;
}

}  // namespace simrun::cli

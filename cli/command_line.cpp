#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/nearest_word.h"
#include "base/user_error.h"

namespace simrun::cli {

namespace {

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0; }

// An option that is given has something to say: a script's empty variable is no value.
void refuse_empty_words(CLI::App& app) {
  const CLI::Validator no_empty_word(
      [](std::string& word) { return word.empty() ? std::string("the word for it is empty") : std::string(); }, "");
  for (CLI::Option* option : app.get_options([](CLI::Option* o) { return takes_value(*o); })) option->transform(no_empty_word);
}

}  // namespace

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
  // "FILE FILE": a word by itself that is called as its type is.
  for (const CLI::Option* option : app_.get_options()) {
    const std::string name = option->get_positional() ? option->get_name(true) : "";
    const size_t at = text.find(fmt::format("\n  {0} {0} ", name));
    if (name.empty() || name != option->get_type_name() || at == std::string::npos) continue;
    text.erase(at + 3, name.size() + 1);
    text.insert(text.find("  ", at + 3), name.size() + 1, ' ');
  }
  return text;
}

std::string CommandLine::descriptions() const {
  std::string text;
  for (const CLI::Option* option : app_.get_options()) {
    std::string names = option->get_positional() ? option->get_name(true) : "";
    for (const std::string& name : option->get_snames()) names += " -" + name;
    for (const std::string& name : option->get_lnames()) names += " --" + name;
    text += names + "\t" + (takes_value(*option) ? option->get_type_name() : "") + "\n";
  }
  return takes_program_ ? text + "PROGRAM\tPROGRAM\n" : text;
}

std::string CommandLine::unknown_word(const std::string& word) const {
  std::string meant;
  if (word.starts_with("--")) {
    std::vector<std::string> known;
    for (const CLI::Option* option : app_.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    meant = nearest_word(word.substr(0, word.find('=')), known);
  }
  return "unknown option or word: " + word + (meant.empty() ? "" : "; did you mean " + meant + "?");
}

std::string CommandLine::in_our_words(const CLI::ParseError& error) const {
  const std::string text = error.what();
  const auto behind = [&](const char* part) {
    const size_t at = text.find(part);
    return at == std::string::npos ? std::string() : text.substr(at + std::strlen(part));
  };
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unknown_word(behind("expected: "));
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const std::string what = behind("Could not convert: ");
    const size_t equals = what.find(" = ");
    if (equals != std::string::npos) return fmt::format("{}: {} is not understood", what.substr(0, equals), what.substr(equals + 3));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return text + ": " + usage_.substr(0, usage_.find('\n'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = text.substr(0, text.find(':'));
    if (!behind(": At Most 1 ").empty()) return name + " is given more than once";
    const std::string missing = behind(" required ");
    if (missing.ends_with(" missing")) return fmt::format("{} needs a value: {}", name, missing.substr(0, missing.rfind(' ')));
  }
  return text;
}

void CommandLine::parse(Words words) {
  if (words == Words{kDescribeOptions}) throw TextWanted{descriptions()};
  refuse_empty_words(app_);
  std::reverse(words.begin(), words.end());  // CLI11 wants them last first
  try {
    app_.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    throw TextWanted{help()};
  } catch (const CLI::CallForVersion& version) {
    throw TextWanted{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    // What is missing may be there, mistyped.
    const Words rest = app_.remaining();
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !rest.empty() && rest[0].starts_with("-"))
      usage_error(unknown_word(rest[0]));
    usage_error(in_our_words(error));
  }
}

Words CommandLine::parse_with_program(const Words& words) {
  const auto bar = std::find(words.begin(), words.end(), "--");
  app_.prefix_command();
  takes_program_ = true;
  parse({words.begin(), bar});
  Words rest = app_.remaining();
  const bool explicitly = bar != words.end();
  if (!rest.empty() && (explicitly || rest[0].starts_with("-"))) usage_error(unknown_word(rest[0]));
  if (explicitly) rest.assign(bar + 1, words.end());
  if (rest.empty()) usage_error("no program to run: " + name_ + " [OPTIONS] -- PROGRAM ARGUMENTS...");
  return rest;
}

}  // namespace simrun::cli

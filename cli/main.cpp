// simrun: the command. Every error that is the user's or the environment's ends here as one message and an exit status.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <system_error>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/print_error.h"
#include "cli/stream_consumer.h"
#include "cli/sub_commands.h"
#include "configs/read_machine.h"
#include "configs/read_suite.h"
#include "instr/host/guardian.h"
#include "instr/host/program_lookup.h"

namespace simrun::cli {
namespace {

// Who starts simrun may have closed them. The first result file would take their numbers, and get what is said to people.
// O_PATH: to read and write stays an error.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0) open("/", O_PATH | O_CLOEXEC);
}

// Installed: machines and suites are in ../share/simrun beside the executable. Else the source tree's, which configs knows.
void find_configurations() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const auto installed = self.parent_path().parent_path() / "share/simrun";
  if (std::filesystem::is_directory(installed / "machines", error)) configs::set_machines_directory(installed / "machines");
  if (std::filesystem::is_directory(installed / "suites", error)) configs::set_suites_directory(installed / "suites");
}

// For commands that read traces: the words of a chunk (33 MB) are freed before the next. By default the system gets
// them back each time, and clears as many pages for the next: a tenth of `check`'s processor time.
void keep_freed_memory() {
  constexpr int kNever = 1 << 30;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kNever);
  mallopt(M_TRIM_THRESHOLD, kNever);
}

// `simrun -q NAME` is `simrun NAME -q`.
Words with_name_first(Words words) {
  const auto name = std::find_if_not(words.begin(), words.end(),
                                     [](const std::string& word) { return word == "-q" || word == "--quiet"; });
  if (name != words.end() && find_sub_command(*name) != nullptr) std::rotate(words.begin(), name, name + 1);
  return words;
}

// A word where a command or an option is expected. A program without any option is none that can be simulated (which
// machine?), but then it is the option that is missing.
void refuse_unknown_command(const Words& words) {
  const auto first = std::find_if_not(words.begin(), words.end(),
                                      [](const std::string& word) { return word == "-q" || word == "--quiet"; });
  if (first == words.end() || first->starts_with("-")) return;
  try {
    host::find_program({*first});
  } catch (const UserError&) {
    throw unknown_command(*first);
  }
}

UserError cannot_write_output(int error) { return UserError(fmt::format("cannot write to standard output: {}", std::strerror(error))); }

// What a command has said is with who reads it, or it has failed.
void finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw cannot_write_output(errno);
}

int run(const Words& given) {
  keep_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);   // what is written beyond a limit fails instead; programs get what we got (host/inherited_state.h)
  find_configurations();
  configs::set_warning_writer([](const std::string& what) { print_error("simrun: warning: {}\n", what); });
  const Words words = with_name_first(given);
  const SubCommand* named = words.empty() ? nullptr : find_sub_command(words[0]);
  if (named == nullptr) refuse_unknown_command(words);
  std::optional<host::Guardian> guardian;
  if (named == nullptr || named->runs_programs)
    guardian.emplace();
  else
    keep_freed_memory();
  StreamConsumer::set_guardian(guardian ? &*guardian : nullptr);
  try {
    const int status = named == nullptr ? run_command(words) : named->run({words.begin() + 1, words.end()});
    if (status == 0) finish_output();
    return status;
  } catch (const TextWanted& wanted) {
    fmt::print("{}", wanted.text);
    finish_output();
    return 0;
  } catch (const std::system_error& error) {  // of fmt::print, which knows no names
    if (std::ferror(stdout) == 0) throw;
    throw cannot_write_output(error.code().value());
  }
}

}  // namespace
}  // namespace simrun::cli

int main(int argc, char** argv) {
  try {
    return simrun::cli::run(simrun::cli::Words(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const simrun::UserError& error) {
    simrun::cli::print_error("simrun: {}\n", error.what());
    return error.exit_status;
  } catch (const std::bad_alloc&) {
    simrun::cli::print_error("simrun: there is not enough memory for this\n");
    return 1;
  } catch (const std::exception& error) {
    simrun::cli::print_error("simrun: {}\n", error.what());
    return 1;
  }
}

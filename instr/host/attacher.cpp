#include "instr/host/attacher.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "instr/host/attach.h"
#include "instr/host/outliving_process.h"
#include "instr/host/shared_mapping.h"
#include "instr/host/target.h"

namespace simrun::host {
namespace {

// With the descriptor of the mapping; then come the files, one by one.
struct Outcome {
  int exit_status;   // of a UserError; 0: it is attached
  uint32_t files;
  char error[8192];
};

Outcome failed(const char* what, int exit_status) {
  Outcome outcome{exit_status, 0, {}};
  std::strncpy(outcome.error, what, sizeof outcome.error - 1);
  return outcome;
}

// Until simrun has taken the process over, or has ended without: whose the process is says the header.
void hand_over(int socket, pid_t pid, const LaunchOptions& options) {
  const FileDescriptor process = open_process(pid);
  TakenOver taken = attach(pid, options);
  const FileDescriptor file = taken.mapping.take_file();
  const Outcome attached{0, static_cast<uint32_t>(taken.files.size()), {}};
  bool heard = send(socket, &attached, sizeof attached, file.get());
  for (const border::MappedFile& f : taken.files) heard = heard && send(socket, &f, sizeof f, -1);
  char nothing;
  FileDescriptor none;
  while (receive(socket, &nothing, sizeof nothing, none)) continue;
  if (taken.mapping.header().simulator_pid == getpid()) release(pid, process, file, true);
}

[[noreturn]] void run(int socket, pid_t pid, const LaunchOptions& options) {
  outlive("simrun-attacher");
  Outcome outcome{};
  try {
    hand_over(socket, pid, options);
    _exit(0);
  } catch (const UserError& error) {
    outcome = failed(error.what(), error.exit_status);
  } catch (const std::exception& error) {
    outcome = failed(error.what(), 1);
  }
  send(socket, &outcome, sizeof outcome, -1);
  _exit(1);
}

TakenOver take_over(int socket, pid_t pid, Guardian* guardian) {
  Outcome outcome;
  FileDescriptor file, none;
  const auto was_killed = [] { return failed("who attached has been killed", 1); };
  if (!receive(socket, &outcome, sizeof outcome, file)) outcome = was_killed();
  if (outcome.exit_status != 0) throw UserError(outcome.error, outcome.exit_status);
  std::vector<border::MappedFile> files(outcome.files);
  for (border::MappedFile& f : files)
    if (!receive(socket, &f, sizeof f, none)) throw UserError(was_killed().error, 1);
  LocalMapping mapping = map_file(std::move(file));
  mapping.header().simulator_pid = getpid();
  if (guardian != nullptr) guardian->guard(pid, mapping.take_file());
  return {std::move(mapping), std::move(files)};
}

}  // namespace

TakenOver attach_apart(pid_t pid, const LaunchOptions& options, Guardian* guardian) {
  Connection connection = connect_processes();
  const pid_t child = connection.ours && connection.theirs ? fork() : -1;
  if (child < 0) throw UserError(fmt::format("cannot attach to process {}: no process can be made: {}", pid, std::strerror(errno)));
  if (child == 0) {
    connection.ours.close_now();
    run(connection.theirs.get(), pid, options);
  }
  connection.theirs.close_now();
  const auto dismiss = [&] {
    connection.ours.close_now();
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  };
  try {
    TakenOver taken = take_over(connection.ours.get(), pid, guardian);
    dismiss();
    return taken;
  } catch (...) {
    dismiss();
    throw;
  }
}

}  // namespace simrun::host

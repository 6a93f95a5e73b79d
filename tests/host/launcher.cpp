// Launches argv[2...] with the engine argv[1] and ends as the program did: for tests of what a program inherits through simrun from whoever
// started simrun, which takes an exec of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "base/user_error.h"
#include "instr/host/launch.h"
#include "instr/host/target.h"

int main(int argc, char** argv) {
  simrun::host::LaunchOptions options;
  options.engine_path = argv[1];
  options.command.assign(argv + 2, argv + argc);
  try {
    simrun::host::Launched launched = simrun::host::launch(options);
    const auto target = std::make_unique<simrun::host::Target>(std::move(launched));
    while (target->running()) usleep(200);
    return WIFEXITED(target->wait_status()) ? WEXITSTATUS(target->wait_status()) : 255;
  } catch (const simrun::UserError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.exit_status;
  }
}

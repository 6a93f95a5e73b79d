// Ctrl-C and `kill` at a command that runs no program: it ends early, with what it has done so far. A second one ends it at once.
#pragma once

namespace simrun::cli {

class Interruption {
 public:
  // From here on SIGINT, SIGTERM and SIGHUP are noted, but those that simrun found ignored. One at a time.
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // The one that came; 0: none.
  static int signal();
};

}  // namespace simrun::cli

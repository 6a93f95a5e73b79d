#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/print_error.h"

namespace simrun::cli {

Progress::Progress(bool wanted) : on_(wanted && isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

bool Progress::due() { return on_ && Clock::now() - last_ >= std::chrono::seconds(1); }

void Progress::show(uint64_t instructions, uint64_t references, uint64_t threads) {
  const auto now = Clock::now();
  const double since = std::chrono::duration<double>(now - last_).count();
  const double speed = static_cast<double>(instructions - last_instructions_) / since / 1e6;
  print_error("\r\x1b[Ksimrun: {:.0f} s, {:.1f} M instructions, {:.1f} M references, {:.1f} MIPS, {} thread{}",
              std::chrono::duration<double>(now - start_).count(), static_cast<double>(instructions) / 1e6,
              static_cast<double>(references) / 1e6, speed, threads, threads == 1 ? "" : "s");
  std::fflush(stderr);
  last_ = now;
  last_instructions_ = instructions;
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  print_error("\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace simrun::cli

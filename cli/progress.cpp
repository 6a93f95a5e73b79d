#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "cli/print_error.h"

namespace simrun::cli {

Progress::Progress(bool wanted, std::string stage, uint64_t all)
    : on_(wanted && isatty(STDERR_FILENO) == 1), stage_(stage.empty() ? "" : std::move(stage) + ": "), all_(all), start_(Clock::now()), last_(start_) {}

bool Progress::due() { return on_ && Clock::now() - last_ >= std::chrono::seconds(1); }

void Progress::show(uint64_t instructions, uint64_t references, uint64_t threads, uint64_t all) {
  const auto now = Clock::now();
  if (all == 0) all = all_;
  const double since = std::chrono::duration<double>(now - last_).count();
  const double speed = static_cast<double>(instructions - last_instructions_) / since / 1e6;
  const auto millions = [](uint64_t n) { return static_cast<double>(n) / 1e6; };
  std::string text = fmt::format("{:.0f} s, {:.1f}", std::chrono::duration<double>(now - start_).count(), millions(instructions));
  text += all >= instructions && all != 0 ? fmt::format(" of {:.1f} M instructions ({:.0f} %)", millions(all), 100 * millions(instructions) / millions(all)) : " M instructions";
  if (references != 0) text += fmt::format(", {:.1f} M references", millions(references));
  text += fmt::format(", {:.1f} MIPS", speed);
  if (threads != 0) text += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  print_error("\r\x1b[Ksimrun: {}{}", stage_, text);
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

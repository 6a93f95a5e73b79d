#include "cli/interruption.h"

#include <array>
#include <atomic>
#include <csignal>

namespace simrun::cli {

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> g_signal{0};
std::array<struct sigaction, kSignals.size()> g_before;

void note(int signal) { g_signal = signal; }

}  // namespace

Interruption::Interruption() {
  g_signal = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &g_before[i]);
    if (g_before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_before[i], nullptr);
}

int Interruption::signal() { return g_signal; }

}  // namespace simrun::cli

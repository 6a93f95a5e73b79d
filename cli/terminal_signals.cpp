#include "cli/terminal_signals.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <initializer_list>

namespace simrun::cli {

namespace {

// All are read by signal handlers. The pointers are set and cleared by the main thread only.
std::atomic<host::Family*> watched_family{nullptr};
std::atomic<channel::Doorbell*> watched_bell{nullptr};
std::atomic<int> seen{0};
std::atomic<int> held_back{0};  // a signal to pass on that came before there was a program

void wake() {
  if (channel::Doorbell* bell = watched_bell.load()) bell->ring();
}

// Not from the terminal, whose signals reach the program without us.
void pass_on(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  // SI_USER: kill(2); the terminal's own come from the kernel (SI_KERNEL) and reach the whole group.
  const bool for_us_only = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
  if (for_us_only) {
    if (host::Family* family = watched_family.load())
      family->forward_signal(signal);
    else
      held_back = signal;
  }
  wake();
  errno = saved;
}

void on_end_request(int signal, siginfo_t* info, void* context) {
  ++seen;
  pass_on(signal, info, context);
}

void on_child(int, siginfo_t*, void*) { wake(); }

void install(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | (signal == SIGCHLD ? 0 : SA_RESTART);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  for (int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // What is ignored (by nohup, or in the background of a script) ends nothing of ours; the program may handle it.
    install(signal, before.sa_handler == SIG_IGN ? pass_on : on_end_request);
  }
  for (int signal : {SIGUSR1, SIGUSR2, SIGWINCH}) install(signal, pass_on);
}

void watch(host::Family& family, channel::Doorbell& bell) {
  watched_bell = &bell;
  watched_family = &family;
  install(SIGCHLD, on_child);
  if (const int signal = held_back.exchange(0)) family.forward_signal(signal);
}

void watch_nothing() {
  watched_family = nullptr;
  watched_bell = nullptr;
}

int signals_seen() { return seen.load(); }

void end_by_signal(int signal) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);  // a core pattern that pipes ignores the limit
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), signal);
  _exit(128 + signal);  // a signal whose default is not to end a process
}

}  // namespace simrun::cli

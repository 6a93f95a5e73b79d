#include "cli/terminal_signals.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "instr/host/inherited_state.h"

namespace simrun::cli {

namespace {

// All are read by signal handlers. The pointers are set and cleared by one thread only, on which the handlers do what they do (so nothing ends
// under them); the others hand what they get to it.
std::atomic<pid_t> handling_thread{0};
std::atomic<host::Family*> watched_family{nullptr};
std::atomic<channel::Doorbell*> watched_bell{nullptr};
std::atomic<host::Guardian*> watched_guardian{nullptr};
std::atomic<int> seen{0};
std::atomic<bool> has_run{false};
std::atomic<int> seen_after_end{0};
std::atomic<int> held_back{0};  // a signal to pass on that came before there was a program

// False: this thread is to do it; what another one has handed over is as that one had it again. (A code from 0 up, or of tgkill(2), cannot be sent
// on as it is; rt_tgsigqueueinfo(2). Those of a program, which may be any below 0, can.)
bool hand_to_its_thread(int signal, siginfo_t* info) {
  constexpr int kHanded = -0x5352'0000, kCodes = 0x8000;
  const pid_t thread = handling_thread.load();
  if (gettid() == thread) {
    if (info->si_code >= kHanded - kCodes && info->si_code < kHanded + kCodes) info->si_code -= kHanded;
    return false;
  }
  const int saved = errno;
  siginfo_t handed = *info;
  if (handed.si_code >= -kCodes && handed.si_code < kCodes) handed.si_code += kHanded;
  const bool done = syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, &handed) == 0;   // it is not ours in a child of ours
  errno = saved;
  return done;
}

// Real-time signals that may be what waits in the program: they are passed on if it has not taken them by then. The handlers fill it, the thread on
// which they run empties it.
struct HeldSignal {
  int signal;
  pid_t sender;
  bool has_value;
  sigval value;
  int64_t until;   // CLOCK_MONOTONIC, nanoseconds
};
constexpr int64_t kHoldNanoseconds = 200'000'000;
constexpr unsigned kMostHeld = 64;
HeldSignal held_signals[kMostHeld];
std::atomic<unsigned> all_held{0}, all_decided{0};

int64_t now_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

bool hold(const HeldSignal& held) {
  unsigned number = all_held.load();   // another signal's handler may come in between
  do {
    if (number - all_decided.load() == kMostHeld) return false;
  } while (!all_held.compare_exchange_weak(number, number + 1));
  held_signals[number % kMostHeld] = held;
  return true;
}

void wake() {
  if (channel::Doorbell* bell = watched_bell.load()) bell->ring();
}

bool is_terminals(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP || signal == SIGWINCH || signal == SIGCONT;
}

// Not from the terminal, whose signals reach the program without us, but for a hang-up: that one is for the leader of the session, which
// natively the program is. An alarm may have been set before the exec of simrun.
void pass_on(int signal, siginfo_t* info, void*) {
  if (hand_to_its_thread(signal, info)) return;
  const int saved = errno;
  const bool sent = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;   // by kill(2) and the like
  const host::Guardian* const guardian = watched_guardian.load();
  const bool own = sent && (info->si_pid == getpid() || (guardian != nullptr && info->si_pid == guardian->pid()));   // abort(); to go on
  const bool hung_up = signal == SIGHUP && info->si_code == SI_KERNEL && getsid(0) == getpid();
  if (!own && (sent || hung_up || !is_terminals(signal))) {
    if (host::Family* family = watched_family.load()) {
      const sigval* const value = info->si_code == SI_QUEUE ? &info->si_value : nullptr;
      const pid_t sender = sent ? info->si_pid : 0;
      const host::Family::Arrival arrival = family->main_has_signal(signal, sender);
      const bool is_held = arrival == host::Family::Arrival::kMayWait &&
                           hold({signal, sender, value != nullptr, value != nullptr ? *value : sigval{}, now_nanoseconds() + kHoldNanoseconds});
      if (arrival != host::Family::Arrival::kCame && !is_held) family->forward_signal(signal, value);
    } else {
      held_back = signal;
    }
  }
  wake();
  errno = saved;
}

void on_end_request(int signal, siginfo_t* info, void* context) {
  if (hand_to_its_thread(signal, info)) return;
  ++seen;
  const host::Family* const family = watched_family.load();
  if (has_run && (family == nullptr || family->main_has_ended())) seen_after_end = signal;
  pass_on(signal, info, context);
}

char g_last_words[4096];   // changed while no handler reads it

void say_and_end(int signal, siginfo_t*, void*) {
  size_t length = 0;
  while (g_last_words[length] != 0) ++length;
  if (write(STDERR_FILENO, g_last_words, length) < 0) length = 0;   // nobody is there to be told
  end_by_signal(signal);
}

void on_child(int child, siginfo_t* info, void*) {
  if (hand_to_its_thread(child, info)) return;
  const int saved = errno;
  wake();
  host::Family* const family = watched_family.load();
  // Whatever this one says: of several only one is told.
  if (family != nullptr && family->main_stopped_by() != 0) {
    // Who waits for us waits for the program. What stopped our whole group has been, or is about to be, continued.
    const timespec moment{0, 2'000'000};
    nanosleep(&moment, nullptr);
    host::Guardian* const guardian = watched_guardian.load();
    const int signal = family->main_stopped_by();
    if (signal != 0 && guardian != nullptr && guardian->continue_with(family->main_pid())) kill(getpid(), signal);
  }
  errno = saved;
}

void install(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | (signal == SIGCHLD ? 0 : SA_RESTART);
  sigaction(signal, &action, nullptr);
}

constexpr int kEndRequests[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
constexpr int kOthersPassedOn[] = {SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGURG, SIGPWR, SIGSTKFLT, SIGABRT, SIGCONT};

// The program has them blocked as simrun was started; what comes to us is to come to it, and stay pending there.
void unblock_passed_on() {
  sigset_t all;
  sigemptyset(&all);
  for (int signal : kEndRequests) sigaddset(&all, signal);
  for (int signal : kOthersPassedOn) sigaddset(&all, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaddset(&all, signal);
  sigaddset(&all, SIGCHLD);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
}

}  // namespace

void install_signal_handlers() {
  handling_thread = gettid();
  has_run = false;
  seen_after_end = 0;
  for (int signal : kEndRequests) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // What is ignored (by nohup, or in the background of a script) or blocked ends nothing of ours; the program may handle it.
    const bool ends_nothing = before.sa_handler == SIG_IGN || before.sa_sigaction == pass_on || host::was_blocked_at_start(signal);
    install(signal, ends_nothing ? pass_on : on_end_request);
  }
  for (int signal : kOthersPassedOn) install(signal, pass_on);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) install(signal, pass_on);
}

void watch(host::Family& family, channel::Doorbell& bell, host::Guardian* guardian) {
  watched_guardian = guardian;
  watched_bell = &bell;
  watched_family = &family;
  has_run = true;
  install(SIGCHLD, on_child);
  unblock_passed_on();
  if (const int signal = held_back.exchange(0)) family.forward_signal(signal);
}

void watch_nothing() {
  watched_family = nullptr;
  watched_guardian = nullptr;
  watched_bell = nullptr;
}

void pass_on_held_signals() {
  host::Family* const family = watched_family.load();
  for (unsigned number = all_decided.load(); number != all_held.load(); all_decided = ++number) {
    const HeldSignal& held = held_signals[number % kMostHeld];
    if (family == nullptr || family->main_has_taken(held.signal, held.sender)) continue;
    if (now_nanoseconds() < held.until) return;
    family->forward_signal(held.signal, held.has_value ? &held.value : nullptr);
  }
}

void let_signals_end_simrun(const std::string& last_words) {
  last_words.copy(g_last_words, sizeof g_last_words - 1);
  g_last_words[std::min(last_words.size(), sizeof g_last_words - 1)] = 0;
  for (int signal : kEndRequests) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_sigaction == on_end_request) install(signal, say_and_end);
  }
}

int signals_seen() { return seen.load(); }

int signal_after_end() { return seen_after_end.load(); }

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

// What simrun does with signals of its own for the launched process. Called by signal handlers.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string_view>

#include "instr/host/family.h"

namespace simrun::host {

void Family::forward_signal(int signal, const sigval* value) {
  if (main_ended_ || attached_) return;
  if (value == nullptr || sigqueue(main_pid_, signal, *value) != 0) kill(main_pid_, signal);
}

bool Family::main_has_ended() const {
  if (main_ended_ || attached_) return main_ended_;
  siginfo_t info{};
  const int saved = errno;
  const bool is_child = waitid(P_PID, static_cast<id_t>(main_pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  errno = saved;
  return !is_child || info.si_pid == main_pid_;   // it may have been waited for
}

int Family::main_stopped_by() const {
  if (main_ended_ || attached_ || ending_all_ || !main_is_first_ || main_header_.load()->last_token != 0) return 0;
  siginfo_t info{};
  const bool stopped = waitid(P_PID, static_cast<id_t>(main_pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == main_pid_;
  return stopped && info.si_code == CLD_STOPPED ? info.si_status : 0;
}

bool Family::is_pending_in_main(int signal) const {
  char text[4096];
  const ssize_t bytes = pread(main_status_file_.get(), text, sizeof text - 1, 0);
  text[std::max<ssize_t>(bytes, 0)] = 0;
  constexpr std::string_view kPending = "\nShdPnd:\t";   // proc_pid_status(5): of the process, hexadecimal
  uint64_t pending = 0;
  if (const char* const at = strstr(text, kPending.data())) std::from_chars(at + kPending.size(), text + sizeof text, pending, 16);
  return (pending >> (signal - 1) & 1) != 0;
}

bool Family::main_has_taken(int signal, pid_t sender) const {
  const border::ProcessHeader* const header = main_header_.load();
  if (header == nullptr || static_cast<uint32_t>(signal) >= border::kSignalArrivals) return false;
  constexpr int64_t kTogether = 200'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::any_of(std::begin(header->arrivals[signal].last), std::end(header->arrivals[signal].last), [&](const auto& arrival) {
    const int64_t time = arrival.time.load(std::memory_order_acquire);
    const int32_t from = arrival.sender.load(std::memory_order_relaxed);
    return time != 0 && (from == sender || from == border::SignalArrivals::kUnknownSender) && now.tv_sec * 1'000'000'000 + now.tv_nsec - time < kTogether;
  });
}

Family::Arrival Family::main_has_signal(int signal, pid_t sender) const {
  if (sender == main_pid_) return Arrival::kCame;
  bool is_pending = false;
  // Who signals a group is not through with it when the first in it hears of it; and who has taken one may wait for a processor before it says so.
  for (long milliseconds = 1; milliseconds <= 8; milliseconds *= 2) {
    const timespec nap{0, milliseconds * 1'000'000};
    nanosleep(&nap, nullptr);
    if (main_has_taken(signal, sender)) return Arrival::kCame;
    is_pending = is_pending_in_main(signal);
    if (is_pending && signal < SIGRTMIN) return Arrival::kCame;
  }
  return is_pending ? Arrival::kMayWait : Arrival::kNot;   // real-time ones count each: what waits may be another one
}

}  // namespace simrun::host

#include "instr/host/family.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/user_error.h"
#include "base/whole_file.h"
#include "instr/host/attach.h"
#include "instr/host/attacher.h"
#include "instr/host/remote_process.h"
#include "instr/host/resource_limits.h"
#include "instr/host/stream_discarder.h"
#include "instr/host/tracers.h"

namespace simrun::host {
namespace {

using border::FollowKind;
using border::FollowRequest;
using border::FollowState;

constexpr int64_t kMissingMilliseconds = 5000, kLostMilliseconds = 1000;

int64_t now_milliseconds() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// Words of its command line with spaces between them.
std::string command_line_of(pid_t pid) {
  std::string text;
  read_whole(fmt::format("/proc/{}/cmdline", pid).c_str(), &text);   // empty: it is gone
  while (!text.empty() && text.back() == 0) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

}  // namespace

Family::Family(LaunchOptions options) : options_(std::move(options)) {
  Launched first = launch(options_);
  main_pid_ = first.pid;
  main_status_file_ = FileDescriptor(open(fmt::format("/proc/{}/status", main_pid_).c_str(), O_RDONLY | O_CLOEXEC));
  warnings_ = first.warnings;
  std::vector<border::MappedFile> files = std::move(first.files);
  add(std::make_unique<Target>(std::move(first)), {}, std::move(files));
  admit(main_);
  main_header_ = &(*this)[main_].header();
}

Family::Family(LaunchOptions options, const std::vector<pid_t>& processes, Guardian* guardian) : options_(std::move(options)), attached_(true) {
  for (const pid_t pid : processes) check_process(pid);
  options_.has_company = processes.size() > 1;
  try {
    for (const pid_t pid : processes) {
      FileDescriptor process = open_process(pid);
      TakenOver taken = attach_apart(pid, options_, guardian);
      add(std::make_unique<Target>(pid, std::move(taken.mapping), Target::Relation::kStranger, std::move(process)), {}, std::move(taken.files));
      admit(arrived() - 1);
    }
  } catch (const std::exception& error) {
    if (members_.empty()) throw;
    leave_unread();
    std::string what = error.what();
    for (const std::string& stuck : stuck_) what += "; " + stuck;
    throw UserError(what);
  }
}

Family::~Family() {
  if (leaver_.joinable()) leaver_.join();
  for (Departure& d : departures_)
    if (d.thread.joinable()) d.thread.join();
  for (const Watched& w : watched_) ptrace(PTRACE_DETACH, w.tid, nullptr, nullptr);   // in vain unless stopped: then our end does it
  for (Member& m : members_)   // there are such after an error
    if (m.target != nullptr && m.target->running()) m.target->abandon();
}

// It waits for us, so it is there.
void Family::add(std::unique_ptr<Target> target, const Birth& birth, std::vector<border::MappedFile> files) {
  std::string command = command_line_of(target->pid());
  if (command.empty() && birth.is_copy) command = members_[birth.parent].command;   // killed
  members_.push_back({std::move(target), birth, std::move(files), std::move(command)});
  main_is_first_ = members_.size() == 1;
  if (birth.kind == Birth::Kind::kForked && birth.token != 0) children_[{birth.parent, birth.token}] = ChildState::kFollowed;
  missing_since_.erase({birth.parent, birth.token});
}

void Family::leave(Target& target) {
  if (leave_native(target)) return;
  stuck_.push_back(fmt::format("process {} could not be detached from: it goes on in the engine, and nobody reads what it does", target.pid()));
}

// All are served at once: one may wait for what another does.
void Family::leave_unread() {
  std::vector<std::unique_ptr<StreamDiscarder>> discarders;
  for (Member& m : members_) discarders.push_back(std::make_unique<StreamDiscarder>(*m.target));
  for (Member& m : members_) leave(*m.target);
}

uint32_t Family::missing_threads(Member& m) {
  const bool was_there = m.target != nullptr && m.birth.kind == Birth::Kind::kLaunched;
  return was_there && m.target->running() ? threads_to_begin(*m.target) : 0;
}

bool Family::several_run() {
  int running = 0;
  return std::any_of(members_.rbegin(), members_.rend(), [&](const Member& m) { return m.target != nullptr && m.target->running() && ++running > 1; });
}

bool Family::all_have_begun() {
  return std::all_of(members_.begin(), members_.end(), [](Member& m) { return missing_threads(m) == 0; });
}

void Family::start_leaving() {
  if (leaving_) return;
  leaving_ = true;
  stop_following();
  std::vector<Target*> running;
  for (Member& m : members_) {
    if (m.target == nullptr || !m.target->running()) continue;
    running.push_back(m.target.get());
    if (const uint32_t missing = missing_threads(m); missing != 0)
      warnings_.push_back(fmt::format("process {}: {} of the {} threads that were there had got no processor when it was left: nothing of them is simulated",
                                      m.target->pid(), missing, m.target->header().attached_threads));
  }
  leaver_ = std::thread([this, running] {
    for (Target* target : running) leave(*target);
    left_ = true;
  });
}

namespace {

// By process: its parent.
std::map<pid_t, pid_t> all_parents() {
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", std::filesystem::directory_options::skip_permission_denied)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(')');   // then " S 123"
    if (name_end != std::string::npos && name_end + 4 < text.size())
      parents[static_cast<pid_t>(std::atoi(name.c_str()))] = static_cast<pid_t>(std::atoi(text.c_str() + name_end + 4));
  }
  return parents;
}

}  // namespace

// A child that was just made is known to nobody but the kernel. So all are stopped first, until there is no new one.
void Family::end_all() {
  ending_all_ = true;
  stop_following();
  std::set<pid_t> doomed;
  for (Member& m : members_)
    if (m.target != nullptr && m.target->running()) doomed.insert(m.target->pid());
  for (const Watched& w : watched_) doomed.insert(w.pid);
  if (!main_ended_ && !attached_) doomed.insert(main_pid_);
  for (const pid_t pid : doomed) kill(pid, SIGSTOP);
  for (bool found = true; found;) {
    found = false;
    for (const auto& [pid, parent] : all_parents())
      if (doomed.contains(parent) && doomed.insert(pid).second) {
        kill(pid, SIGSTOP);
        found = true;
      }
  }
  for (const pid_t pid : doomed) kill(pid, SIGKILL);
}

bool Family::any_is_in_engine() {
  if (leaver_.joinable() && !left_) return true;
  for (Member& m : members_) {
    if (m.target == nullptr || !m.target->running() || m.target->header().engine_state >= 2) continue;
    const border::ProcessHeader& h = m.target->header();
    if (h.leaving != static_cast<uint32_t>(border::Leaving::kGone)) {
      if (!left_ || h.leaving != static_cast<uint32_t>(border::Leaving::kNo)) return true;
      continue;   // it stays
    }
    if (has_threads(*m.target)) return true;
  }
  return false;
}

void Family::poll() {
  for (uint32_t i = 0; i < members_.size(); ++i) {
    if (members_[i].target == nullptr) continue;
    border::ProcessHeader& h = members_[i].target->header();
    if (h.requests_posted.load(std::memory_order_relaxed) == 0) continue;
    h.requests_posted.store(0, std::memory_order_seq_cst);   // before looking: a request that comes now is counted again
    for (FollowRequest& r : h.requests) {
      if (r.state.load(std::memory_order_seq_cst) != static_cast<uint32_t>(FollowState::kPosted)) continue;
      const auto pid = static_cast<pid_t>(r.pid);
      answer(i, r);
      answered_[{i, static_cast<size_t>(&r - h.requests)}] = {pid, now_milliseconds()};
    }
  }
  take_back_requests();
  finish_departures();
  std::erase_if(watched_, [this](Watched& w) {
    if (handle_stops(w)) return false;
    if (w.through) birth_of_lost_ = w.birth, look_for_lost_until_ = now_milliseconds() + kLostMilliseconds;
    return true;
  });
  find_lost();
  watched_.insert(watched_.end(), found_.begin(), found_.end());
  found_.clear();
}

void Family::find_lost() {
  if (now_milliseconds() >= look_for_lost_until_) return;
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid == 0) return;
  const pid_t tid = info.si_pid;
  const bool known = std::ranges::any_of(watched_, [&](const Watched& w) { return w.tid == tid || w.pid == tid; });
  if (!known && tid != main_pid_ && is_traced_by_us(tid)) found_.push_back({tid, tid, birth_of_lost_, true});
}

// Only when it has had time enough: of another namespace's process nobody here knows whether it is there.
void Family::take_back_requests() {
  constexpr int64_t kEnough = 1000;
  std::erase_if(answered_, [&](const auto& entry) {
    const auto& [place, a] = entry;
    if (members_[place.first].target == nullptr) return true;
    std::atomic<uint32_t>& state = members_[place.first].target->header().requests[place.second].state;
    uint32_t value = state.load(std::memory_order_seq_cst);
    if (value != static_cast<uint32_t>(FollowState::kGranted) && value != static_cast<uint32_t>(FollowState::kRefused)) return true;
    if (now_milliseconds() - a.since < kEnough || kill(a.pid, 0) == 0 || errno != ESRCH) return false;
    state.compare_exchange_strong(value, static_cast<uint32_t>(FollowState::kFree));
    return true;
  });
}

void Family::answer(uint32_t parent, FollowRequest& r) {
  const auto pid = static_cast<pid_t>(r.pid), tid = static_cast<pid_t>(r.tid);
  if (closed_ && r.kind != FollowKind::kExecFailed && r.kind != FollowKind::kTraced) {
    if (r.token != 0) children_[{parent, r.token}] = ChildState::kNative;
    return reply(r, false);
  }
  // Given up already (child()): the order went on without it, and nobody would read its streams.
  if (const auto known = children_.find({parent, r.token}); r.token != 0 && r.kind != FollowKind::kTraced && known != children_.end() && known->second == ChildState::kNative)
    return reply(r, false);
  switch (r.kind) {
    case FollowKind::kForked: {
      const bool followed = follow_forked(parent, r);
      if (!followed) children_[{parent, r.token}] = ChildState::kNative;
      return reply(r, followed);
    }
    case FollowKind::kVforked: {
      const bool watched = watch_vforked(pid, tid, {Birth::Kind::kForked, parent, r.token, 0});
      children_[{parent, r.token}] = watched ? ChildState::kPending : ChildState::kNative;
      return reply(r, watched);
    }
    case FollowKind::kExec: return reply(r, watch(pid, tid, {Birth::Kind::kExecuted, parent, 0, 0}));
    case FollowKind::kExecFailed: unwatch_failed_exec(tid); return reply(r, true);
    case FollowKind::kTraced: return let_go(parent, r);
  }
  reply(r, false);
}

bool Family::follow_forked(uint32_t parent, const FollowRequest& r) {
  const auto pid = static_cast<pid_t>(r.pid);
  FileDescriptor file(open(fmt::format("/proc/{}/fd/{}", r.pid, r.descriptor).c_str(), O_RDWR | O_CLOEXEC));
  if (!file && (errno == EMFILE || errno == ENFILE))
    warnings_.push_back(fmt::format("child process {} is not followed: its memory cannot be opened ({})", pid, std::strerror(errno)));
  struct stat s{};
  const uint64_t bytes = members_[parent].target->header().mapping_bytes;
  if (!file || fstat(file.get(), &s) != 0 || static_cast<uint64_t>(s.st_size) != bytes) return false;
  FileDescriptor process;
  try {
    make_room(0, RLIMIT_AS, bytes);
    process = open_process(pid);
  } catch (const UserError& error) {
    warnings_.push_back(fmt::format("child process {} is not followed: {}", pid, error.what()));
    return false;
  }
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (at == MAP_FAILED) return false;
  LocalMapping mapping(at, bytes, std::move(file));
  if (mapping.header().magic != border::kMagic || mapping.header().slots_used == 0) return false;
  const uint32_t slot = mapping.header().slots_used - 1;
  add(std::make_unique<Target>(pid, std::move(mapping), Target::Relation::kStranger, std::move(process)),
      {Birth::Kind::kForked, parent, r.token, slot, true});
  return true;
}

Family::ChildState Family::child(uint32_t parent, uint64_t token, pid_t pid) {
  const std::pair place{numbered_[parent].member, token};
  const auto known = children_.find(place);
  if (known != children_.end()) {
    missing_since_.erase(place);
    // When nothing is followed any more, a child that is still on its way to a program goes on natively; nobody waits for it.
    if (closed_ && known->second == ChildState::kPending) known->second = ChildState::kNative;
    return known->second;
  }
  const auto [since, first] = missing_since_.try_emplace(place, now_milliseconds());
  if (!first && (is_gone(pid) || now_milliseconds() - since->second > kMissingMilliseconds)) {
    poll();   // it may have asked just before its end
    if (!children_.contains(place)) {
      children_[place] = ChildState::kNative;
      if (!is_gone(pid))
        warnings_.push_back(fmt::format("child process {} is not followed: it has not begun to run within {} seconds (stopped, or held by a debugger?)", pid, kMissingMilliseconds / 1000));
    }
  }
  return ChildState::kPending;
}

bool Family::main_runs() {
  if (main_ended_) return false;
  if (attached_) {
    if (any_is_in_engine()) return true;
    if (leaver_.joinable()) leaver_.join();
    warnings_.insert(warnings_.end(), stuck_.begin(), stuck_.end());
    main_ended_ = true;
    return false;
  }
  Target* main = members_[main_].target.get();
  if (main != nullptr && main->running()) return true;
  main_ended_ = true;
  if (main != nullptr) main_status_ = main->wait_status();
  return false;
}

}  // namespace simrun::host

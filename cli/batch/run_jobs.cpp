#include "cli/batch/run_jobs.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/user_error.h"
#include "cli/batch/job_folder.h"
#include "cli/batch/job_process.h"
#include "cli/interruption.h"
#include "cli/print_error.h"

namespace simrun::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kBetweenLooks = 500;  // milliseconds; for limits of time and the progress line
constexpr std::streamoff kMostErrors = 1 << 16;

std::string time_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60) : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string now_text() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  char text[32];
  return fmt::format("{}.{:03}Z", std::string_view(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc)), now.tv_nsec / 1'000'000);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// The last thing that simrun said against it: its last message that is no warning. Empty: none. (It may be of a program that speaks as simrun does.)
std::string last_complaint(const std::string& errors_file) {
  std::ifstream file(errors_file, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kMostErrors));
  std::string found;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("simrun: ") && !line.starts_with("simrun: warning: ")) found = line.substr(std::strlen("simrun: "));
  std::replace_if(found.begin(), found.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return found;
}

// Empty: not known.
std::string ended_of(const JobFolder& folder) {
  try {
    return folder.state().ended;
  } catch (const UserError&) {
    return "";
  }
}

class JobsRun {
 public:
  JobsRun(const Plan& plan, const RunJobsOptions& options, size_t all)
      : plan_(plan), o_(options), all_(all), shows_progress_(!options.quiet && isatty(STDERR_FILENO) == 1) {}

  JobsOutcome run(std::deque<const Job*> waiting);

 private:
  struct Running {
    const Job* job;
    JobFolder folder;
    TakenJob taken;
    std::string started;
    JobProcess process;
    Running(const Plan& plan, const Job& j, JobFolder f, TakenJob t)
        : job(&j),
          folder(std::move(f)),
          taken(std::move(t)),
          started(now_text()),
          process(task_words(plan, j, folder.files_in_new()), *j.program, job_environment(*j.program),
                  {folder.new_path("work"), folder.new_path("stdout"), folder.new_path("stderr")}) {
      taken.set_process(process.id());
    }
  };

  enum class Start { kIsOver, kRuns, kIsElsewhere };
  Start start(const Job& job);
  void wait_for_something();
  void look_at_all();
  void finish(Running& running);
  void is_failed(const Job& job, const std::string& why);
  std::string why_not(const Running& running) const;
  template <class... Arguments>
  void say(fmt::format_string<Arguments...> format, Arguments&&... arguments);
  void show_progress();
  void clear_progress();

  const Plan& plan_;
  const RunJobsOptions& o_;
  const size_t all_;
  const bool shows_progress_;
  bool progress_shown_ = false;
  std::map<const Job*, std::string> ended_before_;  // when each had ended when this call began
  std::list<Running> running_;
  std::deque<const Job*> elsewhere_;  // that other calls run
  JobsOutcome outcome_;
};

JobsOutcome JobsRun::run(std::deque<const Job*> waiting) {
  const Interruption interruption;
  for (const Job* job : waiting) ended_before_[job] = ended_of(JobFolder(plan_, *job));
  while (true) {
    outcome_.signal = Interruption::signal();
    // Those of other calls are looked at again when there is nothing else to do.
    if (waiting.empty() && running_.empty()) waiting.swap(elsewhere_);
    while (outcome_.signal == 0 && !waiting.empty() && running_.size() < o_.at_a_time) {
      const Job& job = *waiting.front();
      waiting.pop_front();
      if (start(job) == Start::kIsElsewhere) elsewhere_.push_back(&job);
    }
    if (outcome_.signal != 0)
      for (Running& running : running_) running.process.end();
    if (running_.empty() && (outcome_.signal != 0 || (waiting.empty() && elsewhere_.empty()))) break;
    show_progress();
    wait_for_something();
    look_at_all();
  }
  clear_progress();
  return outcome_;
}

JobsRun::Start JobsRun::start(const Job& job) {
  JobFolder folder(plan_, job);
  const auto is_over = [&] {
    const JobState state = folder.state();
    const bool just_now = state.ended != ended_before_[&job];  // by another call
    if (state.is == JobState::Is::kDone && (!o_.restart || just_now)) return ++outcome_.done, true;
    if (state.is == JobState::Is::kFailed && just_now) return is_failed(job, state.why), true;
    return false;
  };
  try {
    if (is_over()) return Start::kIsOver;
    std::optional<TakenJob> taken = folder.take();
    if (!taken) return Start::kIsElsewhere;
    // Another call may have done it in between.
    if (is_over()) return Start::kIsOver;
    folder.begin();
    running_.emplace_back(plan_, job, std::move(folder), std::move(*taken));
    return Start::kRuns;
  } catch (const std::exception& error) {
    is_failed(job, error.what());
    return Start::kIsOver;
  }
}

void JobsRun::is_failed(const Job& job, const std::string& why) {
  ++outcome_.failed;
  say("[{}/{}] {}: FAILED, {}", outcome_.done + outcome_.failed, all_, job.label(), why);
}

void JobsRun::wait_for_something() {
  std::vector<pollfd> descriptors;
  for (const Running& running : running_) descriptors.push_back({running.process.descriptor(), POLLIN, 0});
  poll(descriptors.data(), descriptors.size(), kBetweenLooks);
}

void JobsRun::look_at_all() {
  for (auto running = running_.begin(); running != running_.end();) {
    if (running->process.has_ended()) {
      try {
        finish(*running);
      } catch (const std::exception& error) {
        running->folder.discard();
        is_failed(*running->job, error.what());
      }
      running = running_.erase(running);
    } else {
      ++running;
    }
  }
}

// Why it did not succeed; empty: it did.
std::string JobsRun::why_not(const Running& r) const {
  const int status = r.process.wait_status();
  if (r.process.took_too_long()) return fmt::format("took longer than {}", time_text(r.job->program->time_limit));
  if (WIFSIGNALED(status)) return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  const std::string complaint = last_complaint(r.folder.new_path("stderr"));
  // `pinpoints` has no status of the program's, which it runs several times.
  if (WEXITSTATUS(status) != (plan_.task->goes_on ? 0 : r.job->program->status))
    return fmt::format("exit status {}{}{}", WEXITSTATUS(status), complaint.empty() ? "" : ": ", complaint);
  if (const std::string changed = r.folder.changed_files(); !changed.empty()) return "changed while it ran: " + changed;
  const std::string result = r.folder.new_path(plan_.task->result);
  std::error_code error;
  if (!fs::exists(result, error)) return complaint.empty() ? "there is no result" : complaint;
  if (!plan_.task->result_is_report) return "";
  std::ifstream file(result);
  const json report = json::parse(file, nullptr, false);
  if (!report.is_object()) return "the result is not complete";
  if (report.contains("complete") && report["complete"] == false) return report.contains("error") ? report["error"].dump() : "the result is not complete";
  return "";
}

void JobsRun::finish(Running& r) {
  // Whatever it says then: it did not have its time.
  if (r.process.is_told_to_end() && !r.process.took_too_long()) {
    r.folder.interrupted();
    return;
  }
  const std::string why = why_not(r);
  const int status = r.process.wait_status();
  const double seconds = r.process.seconds();
  const json end = {{"command", task_words(plan_, *r.job, {"machine.yaml", plan_.task->result, plan_.task->page == nullptr ? "" : plan_.task->page})},
                    {"host", host_name()},
                    {"started", r.started},
                    {"ended", now_text()},
                    {"seconds", seconds},
                    {"exit_status", WIFEXITED(status) ? json(WEXITSTATUS(status)) : json()},
                    {"signal", WIFSIGNALED(status) ? json(WTERMSIG(status)) : json()},
                    {"error", why.empty() ? json() : json(why)}};
  if (why.empty()) {
    r.folder.succeeded(end);
    ++outcome_.done;
    if (!o_.quiet) say("[{}/{}] {}: {}", outcome_.done + outcome_.failed, all_, r.job->label(), time_text(seconds));
  } else {
    r.folder.failed(end);
    is_failed(*r.job, fmt::format("{} ({})", why, r.folder.failed_path("stderr")));
  }
}

template <class... Arguments>
void JobsRun::say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  clear_progress();
  print_error("simrun: {}\n", fmt::format(format, std::forward<Arguments>(arguments)...));
}

void JobsRun::show_progress() {
  if (!shows_progress_) return;
  std::string text = fmt::format("{} of {} done", outcome_.done, all_);
  if (outcome_.failed != 0) text += fmt::format(", {} failed", outcome_.failed);
  if (!elsewhere_.empty()) text += fmt::format(", {} run by other calls", elsewhere_.size());
  if (!running_.empty()) text += "; running:";
  for (const Running& running : running_) text += fmt::format(" {} ({})", running.job->label(), time_text(running.process.seconds()));
  constexpr size_t kLine = 79;
  if (text.size() > kLine - 8) text = text.substr(0, kLine - 11) + "...";
  print_error("\r\x1b[Ksimrun: {}", text);
  std::fflush(stderr);
  progress_shown_ = true;
}

void JobsRun::clear_progress() {
  if (progress_shown_) print_error("\r\x1b[K");
  progress_shown_ = false;
}

}  // namespace

JobsOutcome run_jobs(const Plan& plan, const std::vector<const Job*>& jobs, const RunJobsOptions& options) {
  return JobsRun(plan, options, jobs.size()).run({jobs.begin(), jobs.end()});
}

}  // namespace simrun::cli

#include "cli/batch/job_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "base/whole_file.h"
#include "cli/output_file.h"

namespace simrun::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kRecord = "job.json";
constexpr const char* kMachine = "machine.yaml";
constexpr const char* kWork = "work";
constexpr const char* kOld = ".old";
constexpr const char* kSchema = "simrun-batch-1";

// null: there is none, or it is no record. Throws UserError when it may not be read.
json read_record(const std::string& folder) {
  const std::string path = folder + "/" + kRecord;
  errno = 0;
  std::ifstream file(path);
  if (!file && errno == EACCES) throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
  json record = file ? json::parse(file, nullptr, false) : json();
  const bool is_ours = record.is_object() && record.contains("schema") && record["schema"] == kSchema && record.contains("definition");
  return is_ours ? record : json();
}

std::string text_of(const json& record, const char* key) { return record.contains(key) && record[key].is_string() ? record[key].get<std::string>() : ""; }

// The keys that are another in one than in the other.
std::vector<std::string> differences(const json& before, const json& now) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : now.items())
    if (!before.is_object() || !before.contains(key) || before[key] != value) keys.push_back(key);
  if (before.is_object())
    for (const auto& [key, value] : before.items())
      if (!now.contains(key)) keys.push_back(key);
  return keys;
}

template <class Do>
void or_fail(const std::string& path, Do what) {
  std::error_code error;
  what(error);
  if (error) throw UserError(fmt::format("{}: {}", path, error.message()));
}

// Programs leave folders that even their owner may not write to.
void remove_tree(const std::string& path, std::error_code& error) {
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found) return error.clear();
  fs::remove_all(path, error);
  if (!error) return;
  std::vector<fs::path> folders = {path};
  while (!folders.empty()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (entry->symlink_status(error).type() == fs::file_type::directory) folders.push_back(entry->path());
  }
  fs::remove_all(path, error);
}

// A process of this boot of this host, and when it began: "BOOT PID START"; empty when it is gone.
std::string process_text(pid_t process) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::string stat;
  read_whole(fmt::format("/proc/{}/stat", process).c_str(), &stat);
  if (const size_t name = stat.rfind(')'); name != std::string::npos) stat.erase(0, name + 2);
  std::istringstream fields(stat);  // from the third of proc(5) on
  std::string state, start;
  fields >> state;
  for (int i = 4; i <= 22; ++i) fields >> start;
  return stat.empty() || state == "Z" ? "" : fmt::format("{} {} {}", boot, process, start);
}

// Whether the process that is noted in a lock's file lives.
bool is_run_by_noted(int descriptor) {
  char text[256] = {};
  if (pread(descriptor, text, sizeof text - 1, 0) <= 0) return false;
  std::istringstream fields(text);
  std::string boot;
  pid_t process = 0;
  fields >> boot >> process;
  return process > 0 && process_text(process) == text;
}

}  // namespace

TakenJob::~TakenJob() {
  if (descriptor_ >= 0) close(descriptor_);
}

TakenJob::TakenJob(TakenJob&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

void TakenJob::set_process(pid_t process) {
  const std::string text = process_text(process);
  // Without it the lock is as good as before, as long as this process lives.
  if (ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, text.data(), text.size(), 0) < 0) return;
}

JobFolder::JobFolder(const Plan& plan, const Job& job)
    : plan_(plan), job_(job), definition_(job.definition), parent_(plan.folder + "/" + job.label()), done_(parent_ + "/" + plan.task->name), failed_(done_ + ".failed"), new_(done_ + ".new") {}

std::string JobFolder::lock_path() const { return fmt::format("{}/.{}.lock", parent_, plan_.task->name); }

JobState JobFolder::state(bool look_for_runs) const {
  using Is = JobState::Is;
  if (look_for_runs) {
    TakenJob lock(open(lock_path().c_str(), O_RDWR | O_CLOEXEC));
    if (lock.descriptor_ >= 0 && ((flock(lock.descriptor_, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) || is_run_by_noted(lock.descriptor_)))
      return {Is::kRunning, "", ""};
  }
  std::error_code error;
  json done = read_record(done_);
  if (!fs::exists(done_path(plan_.task->result), error)) done = json();
  const std::vector<std::string> keys = done.is_null() ? std::vector<std::string>() : differences(done["definition"], definition_);
  if (!done.is_null() && keys.empty()) return {Is::kDone, "", text_of(done, "ended")};
  const json failed = read_record(failed_);
  if (!failed.is_null() && (done.is_null() || failed["definition"] == definition_)) return {Is::kFailed, text_of(failed, "error"), text_of(failed, "ended")};
  if (!done.is_null()) return {Is::kChanged, fmt::format("{}", fmt::join(keys, ", ")), ""};
  return {};
}

std::optional<TakenJob> JobFolder::take() const {
  or_fail(parent_, [&](std::error_code& error) { fs::create_directories(parent_, error); });
  const int descriptor = open(lock_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw UserError(fmt::format("{}: {}", lock_path(), std::strerror(errno)));
  TakenJob taken(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    throw UserError(fmt::format("{}: cannot be locked ({}); simrun batch needs a file system with locks", lock_path(), std::strerror(errno)));
  }
  if (is_run_by_noted(descriptor)) return std::nullopt;
  bring_back_old();
  return taken;
}

void JobFolder::begin() {
  definition_["files"] = files_of(*job_.program);
  const json before = plan_.task->goes_on ? read_record(new_) : json();
  if (before.is_null() || before["definition"] != definition_) or_fail(new_, [&](std::error_code& error) { remove_tree(new_, error); });
  const std::string work = new_path(kWork);
  or_fail(work, [&](std::error_code& error) { remove_tree(work, error); });
  or_fail(work, [&](std::error_code& error) { fs::create_directories(work, error); });
  for (const std::string& file : job_.program->files) {
    const fs::path link = fs::path(work) / fs::path(file).filename();
    or_fail(link.string(), [&](std::error_code& error) { fs::create_symlink(file, link, error); });
  }
  if (definition_.contains("machine")) OutputFile(new_path(kMachine)).commit(json_text(definition_["machine"]));
  write_record(json::object());
}

TaskFiles JobFolder::files_in_new() const {
  const Task& task = *plan_.task;
  return {new_path(kMachine), new_path(task.result), task.page == nullptr ? "" : new_path(task.page)};
}

std::string JobFolder::changed_files() const { return fmt::format("{}", fmt::join(differences(definition_["files"], files_of(*job_.program)), ", ")); }

void JobFolder::write_record(const json& end) const {
  json record = {{"schema", kSchema}, {"program", job_.program->name}, {"machine", job_.machine.empty() ? json() : json(job_.machine)},
                 {"task", plan_.task->name}, {"definition", definition_}};
  record.update(end);
  OutputFile(new_path(kRecord)).commit(json_text(record));
}

// A call was killed amid replace().
void JobFolder::bring_back_old() const {
  std::error_code ignored;
  for (const std::string& to : {done_, failed_})
    if (!fs::exists(to, ignored) && fs::exists(to + kOld, ignored)) fs::rename(to + kOld, to, ignored);
}

// The folder of the run takes the place of `to`.
void JobFolder::replace(const std::string& to) const {
  const std::string old = to + kOld;
  or_fail(old, [&](std::error_code& error) { remove_tree(old, error); });
  std::error_code ignored;
  if (fs::exists(to, ignored)) or_fail(to, [&](std::error_code& error) { fs::rename(to, old, error); });
  or_fail(to, [&](std::error_code& error) { fs::rename(new_, to, error); });
  remove_tree(old, ignored);  // else the next time
}

void JobFolder::succeeded(const json& end) const {
  write_record(end);
  std::error_code ignored;
  if (fs::is_empty(new_path(kWork), ignored)) fs::remove(new_path(kWork), ignored);
  replace(done_);
  remove_tree(failed_, ignored);
}

void JobFolder::failed(const json& end) const {
  write_record(end);
  replace(failed_);
}

void JobFolder::interrupted() const {
  if (!plan_.task->goes_on) discard();
}

void JobFolder::discard() const {
  std::error_code ignored;
  remove_tree(new_, ignored);
}

}  // namespace simrun::cli

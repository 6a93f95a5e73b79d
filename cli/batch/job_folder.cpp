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
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "cli/output_file.h"

namespace simrun::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kRecord = "job.json";
constexpr const char* kWork = "work";
constexpr const char* kOld = ".old";
constexpr const char* kSchema = "simrun-batch-1";

// null: there is none, or nobody can read it.
json read_record(const std::string& folder) {
  std::ifstream file(folder + "/" + kRecord);
  json record = file ? json::parse(file, nullptr, false) : json();
  return record.is_object() && record.value("schema", "") == kSchema && record.contains("definition") ? record : json();
}

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

}  // namespace

TakenJob::~TakenJob() {
  if (descriptor_ >= 0) close(descriptor_);
}

TakenJob::TakenJob(TakenJob&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

JobFolder::JobFolder(const Plan& plan, const Job& job)
    : plan_(plan), job_(job), parent_(plan.folder + "/" + job.label()), done_(parent_ + "/" + plan.task->name), failed_(done_ + ".failed"), new_(done_ + ".new") {}

JobState JobFolder::state() const {
  using Is = JobState::Is;
  const json done = read_record(done_);
  if (!done.is_null()) {
    const std::vector<std::string> keys = differences(done["definition"], job_.definition);
    if (keys.empty()) return {Is::kDone, ""};
    return {Is::kChanged, fmt::format("{}", fmt::join(keys, ", "))};
  }
  const json failed = read_record(failed_);
  if (!failed.is_null()) return {Is::kFailed, failed.value("error", "")};
  return {};
}

std::optional<TakenJob> JobFolder::take() const {
  or_fail(parent_, [&](std::error_code& error) { fs::create_directories(parent_, error); });
  const std::string path = fmt::format("{}/.{}.lock", parent_, plan_.task->name);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
  TakenJob taken(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    bring_back_old();
    return taken;
  }
  if (errno == EWOULDBLOCK) return std::nullopt;
  throw UserError(fmt::format("{}: cannot be locked ({}); simrun batch needs a file system with locks", path, std::strerror(errno)));
}

void JobFolder::begin() const {
  const json before = plan_.task->goes_on ? read_record(new_) : json();
  if (before.is_null() || before["definition"] != job_.definition) or_fail(new_, [&](std::error_code& error) { fs::remove_all(new_, error); });
  const std::string work = new_path(kWork);
  or_fail(work, [&](std::error_code& error) { fs::remove_all(work, error); });
  or_fail(work, [&](std::error_code& error) { fs::create_directories(work, error); });
  for (const std::string& file : job_.program->files) {
    const fs::path link = fs::path(work) / fs::path(file).filename();
    or_fail(link.string(), [&](std::error_code& error) { fs::create_symlink(file, link, error); });
  }
  write_record(json::object());
}

void JobFolder::write_record(const json& end) const {
  json record = {{"schema", kSchema}, {"program", job_.program->name}, {"machine", job_.machine.empty() ? json() : json(job_.machine)},
                 {"task", plan_.task->name}, {"definition", job_.definition}};
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
  or_fail(old, [&](std::error_code& error) { fs::remove_all(old, error); });
  if (fs::exists(to)) or_fail(to, [&](std::error_code& error) { fs::rename(to, old, error); });
  or_fail(to, [&](std::error_code& error) { fs::rename(new_, to, error); });
  or_fail(old, [&](std::error_code& error) { fs::remove_all(old, error); });
}

void JobFolder::succeeded(const json& end) const {
  write_record(end);
  std::error_code ignored;
  if (fs::is_empty(new_path(kWork), ignored)) fs::remove(new_path(kWork), ignored);
  replace(done_);
  fs::remove_all(failed_, ignored);
}

void JobFolder::failed(const json& end) const {
  write_record(end);
  replace(failed_);
}

void JobFolder::interrupted() const {
  std::error_code ignored;
  if (!plan_.task->goes_on) fs::remove_all(new_, ignored);
}

}  // namespace simrun::cli

#include "cli/phases/region_exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/make_threads.h"
#include "base/user_error.h"
#include "cli/phases/replay_region.h"
#include "cli/print_error.h"
#include "cli/progress.h"
#include "simpoint/write_bytes.h"
#include "traces/reader.h"

namespace simrun::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kTable = "regions.csv";

struct File {
  const RegionToExport* region;
  std::string path;
  std::optional<uint32_t> thread;  // none: all
  uint64_t warm_up = 0, instructions = 0;
};

// Passes everything on and counts.
class Counting final : public traces::Visitor {
 public:
  Counting(traces::Exporter& exporter, File& file, uint64_t warm_up, std::atomic<uint64_t>& all)
      : exporter_(exporter), file_(file), warm_up_(warm_up), all_(all) {}
  bool on_instruction(const traces::InstructionRecord& i) override {
    ++(i.number < warm_up_ ? file_.warm_up : file_.instructions);
    all_.fetch_add(1, std::memory_order_relaxed);
    return exporter_.on_instruction(i);
  }
  bool on_begun_string(const traces::InstructionRecord& i) override { return exporter_.on_begun_string(i); }
  bool on_event(const traces::EventRecord& e) override { return exporter_.on_event(e); }

 private:
  traces::Exporter& exporter_;
  File& file_;
  const uint64_t warm_up_;
  std::atomic<uint64_t>& all_;
};

// The default levels are for files that are kept for long.
std::optional<int> quick_level(const std::string& path) { return path.ends_with(".xz") || path.ends_with(".gz") ? std::optional(1) : std::nullopt; }

void make_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::create_directories(folder, error) && error) throw UserError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
}

void write(File& file, const traces::ExportFormat& format, std::atomic<uint64_t>& all) {
  const traces::Reader trace(file.region->trace);
  make_folder(fs::path(file.path).parent_path());
  traces::CompressedOutput out(file.path, quick_level(file.path));
  const auto exporter = format.make(out, {.all_code_is_known = all_code_is_known(trace, -1)});
  traces::WalkOptions walk;
  walk.whole_areas = format.whole_areas;
  if (file.thread) walk.thread = *file.thread;
  Counting visitor(*exporter, file, warm_up_of_region(trace), all);
  traces::walk(trace, walk, visitor);
  exporter->finish();
  out.finish();
}

std::vector<File> files_of(const RegionToExport& region, const traces::ExportFormat& format, const std::string& folder) {
  const traces::Reader trace(region.trace);
  std::set<uint32_t> threads;
  for (const traces::ChunkInfo& chunk : trace.chunks())
    for (const traces::PartInfo& part : chunk.parts)
      if (part.instructions != 0) threads.insert(part.thread);
  if (!format.single_thread) return {{&region, fmt::format("{}/{}{}", folder, region.name, format.ending), {}}};
  if (threads.size() == 1) return {{&region, fmt::format("{}/{}{}", folder, region.name, format.ending), *threads.begin()}};
  std::vector<File> files;
  for (const uint32_t thread : threads)
    files.push_back({&region, fmt::format("{}/{}/t{}{}", folder, region.name, thread, format.ending), thread});
  return files;
}

std::string name_in(const File& file, const std::string& folder) { return file.path.substr(folder.size() + 1); }

// As a field of CSV (RFC 4180), the last one of its row.
std::string field_of(const File& file, const std::string& folder) {
  const std::string name = name_in(file, folder);
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string row(const File& file, const std::string& field) {
  return fmt::format("{},{},{},{},{},{}", file.thread ? fmt::format("{}", *file.thread) : "", file.region->phase, file.region->weight, file.warm_up,
                     file.instructions, field);
}

// Rows of an earlier call, by the file's field.
std::map<std::string, std::string> rows_in(const std::string& table) {
  constexpr int kFieldsBefore = 5;
  std::map<std::string, std::string> rows;
  std::ifstream in(table);
  for (std::string line; std::getline(in, line);) {
    size_t at = 0;
    for (int k = 0; k < kFieldsBefore && at != std::string::npos; ++k) at = line.find(',', at + (k != 0));
    if (at != std::string::npos) rows[line.substr(at + 1)] = line;
  }
  return rows;
}

bool is_there(const File& file) {
  std::error_code error;
  const auto written = fs::last_write_time(file.path, error);
  return !error && written >= fs::last_write_time(file.region->trace, error) && !error;
}

// Of a region that there was before: by the first word of its name.
void remove_others(const std::vector<File>& files, const std::string& folder) {
  std::set<std::string> ours;
  for (const File& file : files) ours.insert(name_in(file, folder).substr(0, name_in(file, folder).find('/')));
  const std::string& name = files.front().region->name;
  const std::string word = name.substr(0, name.rfind("_r") + 2);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string other = entry.path().filename();
    if (other.starts_with(word) && !ours.contains(other)) fs::remove_all(entry.path(), error);
  }
}

// Rows of the files that are complete, in their order.
class Table {
 public:
  Table(const std::vector<File>& files, const std::string& folder) : files_(files), folder_(folder), path_(folder + "/" + kTable), rows_(rows_in(path_)) {}
  bool has(const File& file) const { return rows_.contains(field_of(file, folder_)); }
  void remove(const File& file) { rows_.erase(field_of(file, folder_)); }
  void add(const File& file) {
    const std::lock_guard lock(mutex_);
    const std::string field = field_of(file, folder_);
    rows_[field] = row(file, field);
    write();
  }
  void write() const {
    std::string text = "thread,phase,weight,warm_up,instructions,file\n";
    for (const File& file : files_)
      if (const auto at = rows_.find(field_of(file, folder_)); at != rows_.end()) text += at->second + "\n";
    simpoint::write_whole(path_, text);
  }

 private:
  const std::vector<File>& files_;
  const std::string folder_, path_;
  std::map<std::string, std::string> rows_;
  std::mutex mutex_;
};

// On all processors, a file each at a time.
void write_all(const std::vector<File*>& files, const traces::ExportFormat& format, Table& table, bool quiet) {
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> instructions = 0;
  std::atomic<uint32_t> running = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t k; (k = next++) < files.size();) try {
        write(*files[k], format, instructions);
        table.add(*files[k]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = files.size();
      }
    --running;
  };
  std::vector<std::jthread> threads;
  const size_t count = std::min<size_t>(files.size(), std::max(1u, std::thread::hardware_concurrency()));
  running = static_cast<uint32_t>(count);
  try {
    make_threads("the files of regions", [&] {
      for (size_t k = 0; k < count; ++k) threads.emplace_back(work);
    });
  } catch (...) {
    next = files.size();  // those that there are write no others
    throw;
  }
  Progress progress(!quiet);
  while (running != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (progress.due()) progress.show(instructions, 0, running);
  }
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

size_t export_regions(const std::vector<RegionToExport>& regions, const traces::ExportFormat& format, const std::string& folder, bool quiet) {
  std::vector<File> files;
  for (const RegionToExport& region : regions)
    for (File& file : files_of(region, format, folder)) files.push_back(std::move(file));
  if (files.empty()) return 0;
  make_folder(folder);
  remove_others(files, folder);
  Table table(files, folder);
  std::vector<File*> wanted;
  for (File& file : files)
    if (!is_there(file) || !table.has(file)) wanted.push_back(&file);
  for (const File* file : wanted) table.remove(*file);
  table.write();
  write_all(wanted, format, table, quiet);
  return wanted.size();
}

void warn_of_other_regions(const std::string& folder, const std::string& program, const std::vector<std::string>& names) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename();
    const bool is_ours = std::any_of(names.begin(), names.end(), [&](const std::string& name) { return file.starts_with(name); });
    if (is_ours || !file.starts_with(program + "_r")) continue;
    print_error("simrun: warning: {} holds files of other regions, which an earlier call has made ({})\n", folder, file);
    return;
  }
}

}  // namespace simrun::cli

// drmemtrace's files, one for each thread (or core), put into one order by the times that they say.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "base/user_error.h"
#include "traces/import/drmemtrace_file.h"
#include "traces/import/formats.h"

namespace simrun::traces {

namespace {

namespace fs = std::filesystem;
using namespace drmemtrace;

bool is_name_of_trace(std::string name) {
  for (const char* ending : {".zip", ".gz", ".lz4", ".zlib", ".zst", ".xz"})
    if (name.ends_with(ending)) {
      name.resize(name.size() - std::string_view(ending).size());
      break;
    }
  return name.ends_with(".trace") || name.ends_with(".memtrace");
}

// `path`, or the traces in it, or in its folder trace/.
std::vector<std::string> files_of(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  const fs::path folder = fs::is_directory(fs::path(path) / "trace") ? fs::path(path) / "trace" : fs::path(path);
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && is_name_of_trace(entry.path().filename())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (!files.empty()) return files;
  if (fs::is_directory(fs::path(path) / "raw"))
    throw UserError(fmt::format("{0} has only raw files: let DynamoRIO convert them, drrun -t drmemtrace -indir {0}", path));
  throw UserError(fmt::format("{} has no file *.trace or *.memtrace, compressed or not (.zip, .gz, .lz4)", folder.string()));
}

class Merger {
 public:
  explicit Merger(Writer& writer) : to_(writer) {}

  void add(const std::string& path) {
    auto file = std::make_unique<File>(path, passed_over_);
    if (file->next()) first_.insert({file->unit().timestamp, files_.size()});
    files_.push_back(std::move(file));
  }

  // The file whose time is the earliest, up to its next time.
  void run() {
    while (!first_.empty()) {
      const auto [time, index] = *first_.begin();
      first_.erase(first_.begin());
      File& file = *files_[index];
      bool more = true;
      while (more && file.unit().timestamp == time) {
        put(file);
        more = file.next();
      }
      if (more) first_.insert({file.unit().timestamp, index});
    }
    to_.finish();
  }

  const PassedOver& passed_over() const { return passed_over_; }

 private:
  void put(const File& file) {
    const Unit& unit = file.unit();
    select_thread(file);
    if (unit.has_instruction) {
      const InstructionImporter::Instruction i{.pc = unit.pc,
                                               .length = unit.length,
                                               .flags = unit.flags,
                                               .references = unit.references,
                                               .code = {unit.code.data(), unit.has_code ? unit.length : size_t{0}},
                                               .iterations = unit.iterations,
                                               .runs_down = unit.runs_down};
      if (unit.is_retired) to_.add(i);
      else to_.add_cut(i);
    }
    for (auto at = unit.events.begin(); at != unit.events.end();) {
      const auto end = at + 1 + static_cast<std::ptrdiff_t>(*at >> 32);
      to_.add_event({at, end});
      at = end;
    }
  }

  void select_thread(const File& file) {
    const std::pair key{file.unit().pid, file.unit().tid};
    if (key == last_) return;
    last_ = key;
    const auto [process, is_new_process] = processes_.try_emplace(key.first, static_cast<uint32_t>(processes_.size()));
    if (is_new_process) {
      if (processes_.size() > kMaxProcesses) file.fail("too many processes");
      to_.add_process(static_cast<uint32_t>(key.first));
    }
    const auto [thread, is_new] = threads_.try_emplace(key, static_cast<uint32_t>(threads_.size()));
    if (!is_new) return to_.continue_thread(thread->second);
    if (threads_.size() > kMaxThreadsInTrace) file.fail("too many threads");
    to_.add_thread(process->second, static_cast<uint32_t>(key.second));
  }

  PassedOver passed_over_;
  std::vector<std::unique_ptr<File>> files_;
  std::set<std::pair<uint64_t, size_t>> first_;  // the time of each file that is not at its end, and its place in files_
  std::map<uint64_t, uint32_t> processes_;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> threads_;
  std::pair<uint64_t, uint64_t> last_{~uint64_t{0}, ~uint64_t{0}};
  InstructionImporter to_;
};

ImportNotes notes_of(const PassedOver& p) {
  const std::pair<uint64_t, const char*> all[] = {
      {p.kernel_instructions, "{} instructions of the kernel are left out"},
      {p.filtered_instructions, "{} instructions are left out: they were filtered, to warm up"},
      {p.references, "{} references are left out: they belong to no instruction, or are too many for one"},
      {p.irregular_references, "{} references of string instructions are left out: they do not follow on those before"},
      {p.interrupted_references, "{} references are left out: their instruction was interrupted and comes again"},
      {p.hardware_prefetches, "{} prefetches of a simulated machine are left out"},
      {p.function_markers, "{} markers of functions and their arguments are left out"},
      {p.unknown_markers, "{} markers of unknown kinds are left out"},
      {p.windows, "{} times a thread goes on in another window of tracing"},
      {p.gaps, "{} times control goes on elsewhere and the trace does not say why"},
      {p.files_without_data, "{} files were recorded without references to data"},
      {p.unknown_file_types, "files are of a type with the unknown bits {:#x}"},
  };
  ImportNotes notes;
  for (const auto& [count, text] : all)
    if (count != 0) notes.push_back(fmt::format(fmt::runtime(text), count));
  return notes;
}

}  // namespace

ImportNotes import_drmemtrace(const std::string& path, Writer& writer) {
  Merger merger(writer);
  for (const std::string& file : files_of(path)) merger.add(file);
  merger.run();
  return notes_of(merger.passed_over());
}

}  // namespace simrun::traces

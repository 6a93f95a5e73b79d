// `simrun convert`: a trace into another simulator's format, or another's into a trace.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/empty_selection.h"
#include "cli/output_file.h"
#include "cli/print_error.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/sub_commands.h"
#include "traces/export/formats.h"
#include "traces/export/reference_filter.h"
#include "traces/import/formats.h"
#include "traces/region.h"

namespace simrun::cli {

namespace {

struct ConvertOptions {
  std::string input, output, to, from, region;
  int64_t thread = -1, process = -1;
  bool quiet = false;
  std::optional<int> level;
  uint64_t filter_bytes = 0;  // 0: no filter
  uint64_t filter_line_bytes = 64;
  traces::ExportOptions format;
};

std::string list_of_formats() {
  std::string text = "Formats for --to:\n";
  for (const auto& f : traces::export_formats()) text += fmt::format("  {:<20}{}\n", f.name, f.summary);
  text += "Formats for --from:\n";
  for (const auto& f : traces::import_formats()) text += fmt::format("  {:<20}{}\n", f.name, f.summary);
  return text + "\nCompressed as the name of the file ends: .xz, .gz, .zst (--from also .lz4, .zip, or as the file begins), or not at all.\n"
                "docs/trace-conversion.md says more.\n";
}

constexpr uint64_t kLeastLine = 8;

template <class Formats>
std::vector<std::string> names_of(const Formats& formats) {
  std::vector<std::string> names;
  for (const auto& format : formats) names.emplace_back(format.name);
  return names;
}

template <class Formats>
const auto& find_format(const Formats& formats, const std::string& name) {
  return *std::find_if(formats.begin(), formats.end(), [&](const auto& format) { return name == format.name; });
}

void check_filter(const CommandLine& line, const ConvertOptions& o) {
  if (o.filter_bytes == 0) {
    if (line.has("--l0-line")) line.usage_error("--l0-line goes with --l0-filter");
    return;
  }
  std::string formats;
  for (const auto& f : traces::export_formats())
    if (f.can_be_filtered) formats += fmt::format("{}{}", formats.empty() ? "" : " or --to ", f.name);
  if (o.to.empty() || !find_format(traces::export_formats(), o.to).can_be_filtered)
    line.usage_error(fmt::format("--l0-filter goes with --to {}", formats));
  if (!std::has_single_bit(o.filter_bytes) || !std::has_single_bit(o.filter_line_bytes) || o.filter_bytes < o.filter_line_bytes)
    line.usage_error("--l0-filter and --l0-line take powers of two, and the filter has one line at least");
}

ConvertOptions parse_convert(const Words& words) {
  ConvertOptions o;
  CommandLine line("simrun convert",
                   "simrun convert FILE --to FORMAT -o FILE [OPTIONS]\n"
                   "       simrun convert FILE|FOLDER --from FORMAT -o FILE",
                   "Writes a trace of simrun in the format of another simulator (--to), or reads another's (--from).");
  line.app().footer(list_of_formats());
  line.app().add_option("FILE", o.input, "What to convert")->required()->type_name("FILE");
  line.app().add_option("-o,--output", o.output, "The result; - is standard output (with --to)")->required()->type_name("FILE");
  line.app().add_option("--to", o.to, "Format to write")
      ->transform(one_of(names_of(traces::export_formats()), ChoiceBecomes::kWord))
      ->type_name(alternatives(names_of(traces::export_formats())));
  line.app().add_option("--from", o.from, "Format to read")
      ->transform(one_of(names_of(traces::import_formats()), ChoiceBecomes::kWord))
      ->type_name(alternatives(names_of(traces::import_formats())));
  line.app().add_option("--thread", o.thread, "Only this thread (simrun info lists them)")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("N");
  line.app().add_option("--process", o.process, "Only this process")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("N");
  line.app().add_option("--region", o.region, "Only instructions A up to B of the trace")->type_name("A..B");
  line.app().add_flag("--count-iterations", o.format.count_iterations,
                      "champsim: a record for each iteration of a repeated string instruction");
  line.app()
      .add_option("--l0-filter", o.filter_bytes,
                  "din, csv: leave out what hits in direct-mapped caches of SIZE, one for fetches and one for data, but for the\n"
                  "first write to a line. Caches of LRU with as many sets or more miss and write back as before\n"
                  "(docs/trace-conversion.md says which)")
      ->transform(size_in_bytes(kLeastLine, uint64_t{1} << 30))
      ->type_name("SIZE");
  line.app()
      .add_option("--l0-line", o.filter_line_bytes, "Lines of --l0-filter, which must be those of the caches to simulate (64)")
      ->transform(size_in_bytes(kLeastLine, 4096))
      ->type_name("SIZE");
  line.app()
      .add_option("--level", o.level, "How hard to compress: .xz 0 to 9 (6), .gz 1 to 9 (6), .zst 1 to 19 (3)")
      ->transform(whole_number(0, 19))
      ->type_name("N");
  line.app().add_flag("-q,--quiet", o.quiet, "No progress line and no report");
  line.parse(words);
  if (o.to.empty() == o.from.empty()) line.usage_error("give --to FORMAT or --from FORMAT");
  if (o.level && o.to.empty()) line.usage_error("--level goes with --to");
  check_filter(line, o);
  if (o.format.count_iterations && o.to != "champsim") line.usage_error("--count-iterations goes with --to champsim");
  if (o.to.empty() && !(o.region.empty() && o.thread < 0 && o.process < 0))
    line.usage_error("--thread, --process and --region go with --to: what is read is read as a whole");
  refuse_same_file({{"FILE", o.input}, {"--output", o.output}});
  return o;
}

uint64_t instruction(const std::string& text, uint64_t otherwise) {
  if (text.empty()) return otherwise;
  const traces::RegionBound bound = traces::parse_region_bound(text);
  if (bound.kind != traces::RegionBound::Kind::kInstructions) throw UserError("--region takes instruction counts: 1M..2M", 2);
  return bound.count;
}

traces::WalkOptions walk_options(const ConvertOptions& o) {
  traces::WalkOptions walk;
  walk.thread = o.thread;
  walk.process = o.process;
  if (o.region.empty()) return walk;
  const size_t dots = o.region.find("..");
  if (dots == std::string::npos) throw UserError("--region takes instruction counts: 1M..2M", 2);
  walk.from = instruction(o.region.substr(0, dots), 0);
  walk.to = instruction(o.region.substr(dots + 2), std::numeric_limits<uint64_t>::max());
  return walk;
}

// Passes everything on and counts.
class Progressing final : public traces::Visitor {
 public:
  // `single_thread`: a second one is an error (what was not completed has no index that tells before).
  Progressing(traces::Exporter& exporter, Progress& progress, bool single_thread)
      : exporter_(exporter), progress_(progress), single_thread_(single_thread) {}
  bool on_instruction(const traces::InstructionRecord& i) override {
    constexpr uint64_t kLookAtClock = 1 << 16;
    if (instructions_ == 0) thread_ = i.thread;
    if (single_thread_ && i.thread != thread_)
      throw UserError(fmt::format("there are several threads ({} and {}), and the format holds one: give --thread N", thread_, i.thread), 2);
    left_out_ += i.references_left_out;
    references_ += i.references.size();
    if (instructions_ == 0) process_ = i.process;
    has_several_processes_ |= i.process != process_;
    if (++instructions_ % kLookAtClock == 0 && progress_.due()) progress_.show(instructions_, references_, 1);
    return exporter_.on_instruction(i);
  }
  bool on_begun_string(const traces::InstructionRecord& i) override {
    references_ += i.references.size();
    left_out_ += i.references_left_out;
    return exporter_.on_begun_string(i);
  }
  bool on_event(const traces::EventRecord& e) override { return exporter_.on_event(e); }
  uint64_t left_out() const { return left_out_ + exporter_.left_out(); }
  uint64_t instructions() const { return instructions_; }
  bool has_several_processes() const { return has_several_processes_; }
  uint64_t references() const { return references_; }

 private:
  traces::Exporter& exporter_;
  Progress& progress_;
  const bool single_thread_;
  uint32_t thread_ = 0, process_ = 0;
  bool has_several_processes_ = false;
  uint64_t instructions_ = 0, references_ = 0, left_out_ = 0;
};

void check_thread(const ConvertOptions& o, const traces::ExportFormat& format, const traces::Reader& trace) {
  std::set<uint32_t> threads;
  for (const traces::ChunkInfo& chunk : trace.chunks())
    for (const traces::PartInfo& part : chunk.parts)
      if (o.process < 0 || part.process == static_cast<uint64_t>(o.process)) threads.insert(part.thread);
  if (o.process >= static_cast<int64_t>(trace.processes()))
    throw UserError(fmt::format("{} has no process {}", o.input, o.process));
  if (o.thread >= 0 && !threads.empty() && !threads.contains(static_cast<uint32_t>(o.thread)))
    throw UserError(fmt::format("{} has no thread {}{}", o.input, o.thread, o.process < 0 ? "" : " in that process"));
  if (format.single_thread && o.thread < 0 && threads.size() > 1)
    throw UserError(fmt::format("{} has {} threads{}, a file of {} holds one: give --thread N ({} to {}), one file for each",
                                o.input, threads.size(), o.process < 0 ? "" : " in that process", format.name,
                                *threads.begin(), *threads.rbegin()),
                    2);
}

int export_trace(const ConvertOptions& o) {
  const traces::ExportFormat& format = find_format(traces::export_formats(), o.to);
  traces::WalkOptions walk = walk_options(o);
  walk.whole_areas = format.whole_areas;
  const traces::Reader trace(o.input);
  check_thread(o, format, trace);
  traces::CompressedOutput out(o.output, o.level);
  traces::ExportOptions options = o.format;
  options.all_code_is_known = traces::all_code_is_known(trace, o.process);
  const auto exporter = format.make(out, options);
  std::optional<traces::FilteringExporter> filter;
  if (o.filter_bytes != 0)
    filter.emplace(*exporter, traces::ReferenceFilter(o.filter_bytes, static_cast<uint32_t>(o.filter_line_bytes), !format.one_memory, *exporter));
  Progress progress(!o.quiet);
  Progressing visitor(filter ? static_cast<traces::Exporter&>(*filter) : *exporter, progress, format.single_thread);
  std::exception_ptr damage;  // what was before it is written all the same
  try {
    traces::walk(trace, walk, visitor);
  } catch (const traces::TraceError&) {
    if (visitor.instructions() == 0) throw;
    damage = std::current_exception();
  }
  if (visitor.instructions() == 0) throw nothing_selected(trace, walk);
  exporter->finish();
  out.finish();
  progress.clear();
  if (!trace.incomplete().empty()) print_error("simrun: warning: {}: {}\n", o.input, trace.incomplete());
  if (visitor.left_out() != 0)
    print_error("simrun: warning: {} references have no place in the format and were left out\n", grouped(visitor.left_out()));
  if (format.one_memory && visitor.has_several_processes())
    print_error("simrun: warning: {} holds several processes, whose addresses {} cannot tell apart: --process N takes one, and simrun sim "
                "--memory-trace gives each its own\n",
                o.input, format.name);
  if (!o.quiet)
    print_error("{}: {} instructions, {} references, {} bytes before compression\n", o.output,
                grouped(visitor.instructions()), grouped(visitor.references()), grouped(out.bytes()));
  if (filter && !o.quiet)
    print_error("{}: --l0-filter kept {} fetches and {} references\n", o.output, grouped(filter->kept_fetches()), grouped(filter->kept_references()));
  if (damage) std::rethrow_exception(damage);
  return 0;
}

int import_trace(const ConvertOptions& o) {
  const traces::ImportFormat& format = find_format(traces::import_formats(), o.from);
  if (o.output == "-") throw UserError("a trace cannot be written to standard output", 2);
  traces::Writer writer(o.output,
                        {{"format", "simrun-trace-4"}, {"imported_from", format.name}, {"command", {o.input}}});
  const traces::ImportNotes notes = format.read(o.input, writer);
  if (writer.instructions() == 0) throw UserError(fmt::format("{} holds no instruction in the format {}", o.input, format.name));
  writer.finish({{"threads", nlohmann::ordered_json::array()}});
  if (const std::string why = writer.stopped(); !why.empty())
    throw UserError(fmt::format("{}: {}. What was converted before is complete", o.output, why));
  for (const std::string& note : notes) print_error("simrun: warning: {}: {}\n", o.input, note);
  if (!o.quiet)
    print_error("{}: {} instructions in {} bytes\n", o.output, grouped(writer.instructions()), grouped(writer.bytes()));
  return 0;
}

}  // namespace

int convert_command(const Words& words) {
  const ConvertOptions options = parse_convert(words);
  return options.from.empty() ? export_trace(options) : import_trace(options);
}

}  // namespace simrun::cli

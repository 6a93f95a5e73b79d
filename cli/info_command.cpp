// `simrun info`: what a trace file holds.
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/report.h"
#include "cli/sub_commands.h"
#include "traces/reader.h"

namespace simrun::cli {

namespace {

using nlohmann::ordered_json;

const char* name_of(traces::SectionType type) {
  switch (type) {
    case traces::SectionType::kInformation: return "information";
    case traces::SectionType::kDescriptors: return "descriptors";
    case traces::SectionType::kModules: return "modules";
    case traces::SectionType::kChunk:
    case traces::SectionType::kChunk3: return "chunks";
    case traces::SectionType::kSummary: return "summary";
    case traces::SectionType::kIndex: return "index";
    case traces::SectionType::kProcesses: return "processes";
    case traces::SectionType::kMemory:
      return "memory";
  }
  return "other";
}

ordered_json sections(const traces::Reader& trace) {
  std::map<std::string, std::array<uint64_t, 3>> sums;
  for (const traces::Section& s : trace.sections()) {
    auto& [count, stored, raw] = sums[name_of(s.type)];
    ++count, stored += s.stored_bytes, raw += s.raw_bytes;
  }
  ordered_json list = ordered_json::object();
  for (const auto& [name, sum] : sums)
    list[name] = {{"count", sum[0]}, {"bytes", sum[1]}, {"uncompressed_bytes", sum[2]}};
  return list;
}

const char* word_of(traces::ProcessRecord::Origin origin) {
  switch (origin) {
    case traces::ProcessRecord::Origin::kLaunched: return "launched";
    case traces::ProcessRecord::Origin::kForked: return "forked";
    case traces::ProcessRecord::Origin::kExecuted: return "executed";
  }
  return "other";
}

struct ThreadSum {
  uint32_t process = 0, tid = 0;
  uint64_t instructions = 0;
};

// What there is of a process.
struct ProcessSum {
  uint64_t instructions = 0;
  std::vector<std::pair<uint32_t, const ThreadSum*>> threads;  // with their indices
  std::vector<const traces::Module*> modules;
};

// By thread, from the index.
std::map<uint32_t, ThreadSum> sums_of(const traces::Reader& trace) {
  std::map<uint32_t, ThreadSum> threads;
  for (const traces::ChunkInfo& chunk : trace.chunks())
    for (const traces::PartInfo& part : chunk.parts) {
      ThreadSum& sum = threads[part.thread];
      sum.process = part.process;
      sum.tid = part.tid;
      sum.instructions += part.instructions;
    }
  return threads;
}

// By process. A trace can have a million of them.
std::vector<ProcessSum> group(const traces::Reader& trace, const std::map<uint32_t, ThreadSum>& threads) {
  std::vector<ProcessSum> processes(trace.processes());
  for (const auto& [index, thread] : threads) {
    if (thread.process >= processes.size()) continue;
    processes[thread.process].instructions += thread.instructions;
    processes[thread.process].threads.emplace_back(index, &thread);
  }
  for (const traces::Module& m : trace.modules())
    if (m.process < processes.size()) processes[m.process].modules.push_back(&m);
  return processes;
}

ordered_json describe(const traces::Reader& trace) {
  ordered_json modules = ordered_json::array();
  for (const traces::Module& m : trace.modules())
    modules.push_back({{"process", m.process},
                       {"path", m.path},
                       {"build_id", m.build_id},
                       {"start", m.start},
                       {"end", m.end},
                       {"file_offset", m.file_offset}});
  ordered_json processes = ordered_json::array();
  const std::map<uint32_t, ThreadSum> threads = sums_of(trace);
  const std::vector<ProcessSum> sums = group(trace, threads);
  for (uint32_t p = 0; p < trace.processes(); ++p) {
    const traces::ProcessRecord& record = trace.process_record(p);
    processes.push_back({{"index", p},
                         {"origin", word_of(record.origin)},
                         {"parent", record.parent},
                         {"pid", record.pid},
                         {"command", record.command},
                         {"first_instruction", record.first_instruction},
                         {"instructions", sums[p].instructions},
                         {"superblocks", trace.process(p).superblocks()},
                         {"paths", trace.process(p).paths() - traces::kFirstPath}});
  }
  ordered_json list = ordered_json::array();
  for (const auto& [index, thread] : threads)
    list.push_back(
        {{"index", index}, {"process", thread.process}, {"tid", thread.tid}, {"instructions", thread.instructions}});
  return {{"file", trace.path()},
          {"bytes", trace.file_bytes()},
          {"complete", trace.incomplete().empty()},
          {"incomplete_because", trace.incomplete()},
          {"damage", trace.damage() ? trace.damage()->what() : ""},
          {"instructions", trace.instructions()},
          {"chunks", trace.chunks().size()},
          {"sections", sections(trace)},
          {"processes", processes},
          {"threads", list},
          {"modules", modules},
          {"information", trace.information()},
          {"summary", trace.summary()}};
}

std::string command_of(const nlohmann::json& information) {
  std::string text;
  if (const auto at = information.find("command"); at != information.end() && at->is_array())
    for (const auto& word : *at)
      if (word.is_string()) text += (text.empty() ? "" : " ") + word.get<std::string>();
  return text;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return at == object.end() ? "" : at->is_string() ? at->get<std::string>() : at->dump();
}

// One process with its threads and modules.
void print_process(const traces::Reader& trace, uint32_t p, const ProcessSum& of, bool knows_threads) {
  using Origin = traces::ProcessRecord::Origin;
  const traces::ProcessRecord& record = trace.process_record(p);
  std::string from;
  if (record.origin == Origin::kForked) from = fmt::format(", forked by process {}", record.parent);
  if (record.origin == Origin::kExecuted) from = fmt::format(", executed by process {}", record.parent);
  const std::string pid = record.pid == 0 ? "" : fmt::format("pid {}, ", record.pid);
  const std::string instructions = knows_threads ? grouped(of.instructions) + " instructions, " : "";
  fmt::print("   process {:<7} {}{}{} superblocks, {} paths{}\n", p, pid, instructions, grouped(trace.process(p).superblocks()),
             grouped(trace.process(p).paths() - traces::kFirstPath), from);
  if (!record.command.empty()) fmt::print("     command       {}\n", record.command);
  for (const auto& [index, thread] : of.threads)
    fmt::print("     thread {:<6} tid {}, {} instructions\n", index, thread->tid, grouped(thread->instructions));
  for (const traces::Module* m : of.modules)
    fmt::print("     module        {:#x}-{:#x} {} +{:#x} {}\n", m->start, m->end, m->path, m->file_offset, m->build_id);
}

void print_text(const traces::Reader& trace) {
  const nlohmann::json& information = trace.information();
  fmt::print("{}: {}\n", trace.path(), command_of(information));
  const nlohmann::json machine = information.value("machine", nlohmann::json::object());
  if (const std::string format = text_of(information, "imported_from"); !format.empty())
    fmt::print("   imported        from {}\n", format);
  else
    fmt::print("   recorded        {} on {} ({})\n", text_of(information, "started"), text_of(machine, "processor"), text_of(machine, "kernel"));
  const double bits = trace.instructions() == 0 ? 0
                                                : 8.0 * static_cast<double>(trace.file_bytes()) /
                                                      static_cast<double>(trace.instructions());
  fmt::print("   instructions    {} in {} bytes: {:.3f} bits an instruction\n", grouped(trace.instructions()),
             grouped(trace.file_bytes()), bits);
  if (!trace.incomplete().empty()) fmt::print("   not complete    {}\n", trace.incomplete());
  if (trace.damage()) fmt::print("   damaged         {}\n", trace.damage()->what());
  if (const std::string region = text_of(trace.summary(), "region"); !region.empty())
    fmt::print("   region          {}\n", region);
  const ordered_json parts = sections(trace);
  for (const auto& [name, part] : parts.items())
    fmt::print("   {:<15} {} of {} bytes ({} uncompressed)\n", name, grouped(part["count"].get<uint64_t>()),
               grouped(part["bytes"].get<uint64_t>()), grouped(part["uncompressed_bytes"].get<uint64_t>()));
  const std::map<uint32_t, ThreadSum> threads = sums_of(trace);
  if (threads.empty() && trace.instructions() != 0) fmt::print("   threads         not known: the file has no index\n");
  const std::vector<ProcessSum> sums = group(trace, threads);
  for (uint32_t p = 0; p < trace.processes(); ++p) print_process(trace, p, sums[p], !threads.empty());
}

}  // namespace

int info_command(const Words& words) {
  CommandLine line("simrun info", "simrun info FILE [--json]", "Says what a trace holds, and where it comes from.");
  std::string file;
  bool json = false;
  line.app().add_option("FILE", file, "A trace of simrun record")->required()->type_name("FILE");
  line.app().add_flag("-j,--json", json, "As JSON, with everything");
  line.parse(words);
  const traces::Reader trace(file);
  if (json)
    fmt::print("{}\n", describe(trace).dump(2, ' ', false, ordered_json::error_handler_t::replace));
  else
    print_text(trace);
  return 0;
}

}  // namespace simrun::cli

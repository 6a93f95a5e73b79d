// `simrun info`: what a trace file holds.
#include <fmt/format.h>

#include <array>
#include <map>

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
    case traces::SectionType::kChunk: return "chunks";
    case traces::SectionType::kSummary: return "summary";
    case traces::SectionType::kIndex: return "index";
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
  for (uint32_t p = 0; p < trace.processes(); ++p)
    processes.push_back({{"superblocks", trace.process(p).superblocks()},
                         {"paths", trace.process(p).paths() - traces::kFirstPath}});
  return {{"file", trace.path()},
          {"bytes", trace.file_bytes()},
          {"complete", trace.incomplete().empty()},
          {"incomplete_because", trace.incomplete()},
          {"damage", trace.damage() ? trace.damage()->what() : ""},
          {"instructions", trace.instructions()},
          {"chunks", trace.chunks().size()},
          {"sections", sections(trace)},
          {"processes", processes},
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

void print_text(const traces::Reader& trace) {
  const nlohmann::json& information = trace.information();
  fmt::print("{}: {}\n", trace.path(), command_of(information));
  const nlohmann::json machine = information.value("machine", nlohmann::json::object());
  fmt::print("   recorded        {} on {} ({})\n", text_of(information, "started"), text_of(machine, "processor"),
             text_of(machine, "kernel"));
  const double bits = trace.instructions() == 0 ? 0
                                                : 8.0 * static_cast<double>(trace.file_bytes()) /
                                                      static_cast<double>(trace.instructions());
  fmt::print("   instructions    {} in {} bytes: {:.3f} bits an instruction\n", grouped(trace.instructions()),
             grouped(trace.file_bytes()), bits);
  if (!trace.incomplete().empty()) fmt::print("   not complete    {}\n", trace.incomplete());
  if (trace.damage()) fmt::print("   damaged         {}\n", trace.damage()->what());
  if (const std::string stopped = text_of(trace.summary(), "stopped"); !stopped.empty())
    fmt::print("   ended early     {}\n", stopped);
  if (const std::string region = text_of(trace.summary(), "region"); !region.empty())
    fmt::print("   region          {}\n", region);
  const ordered_json parts = sections(trace);
  for (const auto& [name, part] : parts.items())
    fmt::print("   {:<15} {} of {} bytes ({} uncompressed)\n", name, grouped(part["count"].get<uint64_t>()),
               grouped(part["bytes"].get<uint64_t>()), grouped(part["uncompressed_bytes"].get<uint64_t>()));
  for (uint32_t p = 0; p < trace.processes(); ++p)
    fmt::print("   process {:<7} {} superblocks, {} paths\n", p, grouped(trace.process(p).superblocks()),
               grouped(trace.process(p).paths() - traces::kFirstPath));
  std::map<uint32_t, std::pair<uint32_t, uint64_t>> threads;
  for (const traces::ChunkInfo& chunk : trace.chunks())
    for (const traces::PartInfo& part : chunk.parts) {
      threads[part.thread].first = part.tid;
      threads[part.thread].second += part.instructions;
    }
  for (const auto& [index, thread] : threads)
    fmt::print("   thread {:<8} tid {}, {} instructions\n", index, thread.first, grouped(thread.second));
  for (const traces::Module& m : trace.modules())
    fmt::print("   module          {:#x}-{:#x} {} +{:#x} {}\n", m.start, m.end, m.path, m.file_offset, m.build_id);
}

}  // namespace

int info_command(const Words& words) {
  CommandLine line("simrun info", "simrun info FILE [--json]", "Says what a trace holds, and where it comes from.");
  std::string file;
  bool json = false;
  line.app().add_option("FILE", file, "A trace of simrun record")->required();
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

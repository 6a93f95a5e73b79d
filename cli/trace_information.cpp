#include "cli/trace_information.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "instr/channel/xsave_layout.h"

namespace simrun::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return {};
}

bool matters(const std::string& name) {
  for (const char* prefix : {"LD_", "OMP_", "GOMP_", "KMP_", "MALLOC_", "LC_"})
    if (name.starts_with(prefix)) return true;
  return name == "GLIBC_TUNABLES" || name == "LANG" || name == "TZ" || name == "POSIXLY_CORRECT";
}

Json machine() {
  utsname system{};
  uname(&system);
  Json components = Json::array();
  for (const channel::XsaveComponent& c : channel::xsave_components())
    components.push_back({c.number, c.offset, c.bytes});
  return {{"processor", processor_name()},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"page_bytes", sysconf(_SC_PAGESIZE)},
          {"xsave_components", components}};
}

Json statistics(const channel::ThreadStatistics& s) {
  return {{"instructions", s.instructions},
          {"loads", s.loads},
          {"stores", s.stores},
          {"prefetches", s.prefetches},
          {"flushes", s.flushes},
          {"fetch_lines", s.fetch_lines},
          {"paths", s.paths},
          {"string_iterations", s.string_iterations},
          {"syscalls", s.syscalls},
          {"signals", s.signals},
          {"cuts", s.cuts},
          {"words", s.words},
          {"stalls", s.stalls},
          {"truncated_words", s.truncated_words}};
}

template <class T>
T number(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<T>() : T{};
}

}  // namespace

Json telling_environment() {
  Json variables = Json::object();
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string entry = *at;
    const size_t equals = entry.find('=');
    if (equals != std::string::npos && matters(entry.substr(0, equals)))
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return variables;
}

Json trace_information(const ProgramOptions& options, uint32_t cores) {
  std::error_code error;
  return {{"format", "simrun-trace-4"},
          {"simrun", SIMRUN_VERSION},
          {"command", options.command},
          {"working_directory", std::filesystem::current_path(error).string()},
          {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"environment", telling_environment()},
          {"machine", machine()},
          {"options",
           {{"quantum", options.quantum},
            {"order", options.order()},
            {"aslr", options.aslr},
            {"max_superblock", options.max_superblock_instructions},
            {"elide_words", options.elide_words},
            {"follow_children", options.follow_children},
            {"cores", cores}}}};
}

Json trace_summary(const RunResult& result) {
  Json processes = Json::array();
  for (const ProcessReport& p : result.processes)
    processes.push_back({{"index", p.index}, {"pid", p.pid}, {"command", p.command}});
  Json threads = Json::array();
  for (const channel::ThreadReport& t : result.threads) {
    threads.push_back({{"index", t.index},
                       {"process", t.process},
                       {"slot", t.slot},
                       {"tid", t.tid},
                       {"ended", t.ended},
                       {"cut_off", t.cut_off},
                       {"start_clock", t.start_clock},
                       {"end_clock", t.end_clock},
                       {"statistics", statistics(t.statistics)}});
    if (t.ended_before != channel::ThreadReport{}.ended_before) threads.back()["ended_before"] = t.ended_before;
  }
  return {
      {"exit_code", result.exit_code},
      {"signal", result.signal},
      {"error", result.error},
      {"wall_seconds", result.wall_seconds},
      {"events", {{"forks", result.events.forks}, {"execs", result.events.execs}}},
      {"native_programs", result.native_images},
      {"left_running", result.left_running},
      {"processes", processes},
      {"threads", threads}};
}

void read_trace_summary(const nlohmann::json& information, const nlohmann::json& summary, RunResult& result) {
  if (const auto at = information.find("command"); at != information.end() && at->is_array())
    for (const auto& word : *at)
      if (word.is_string()) result.command.push_back(word.get<std::string>());
  if (const auto at = information.find("started"); at != information.end() && at->is_string())
    result.started = at->get<std::string>();
  if (const auto at = information.find("options"); at != information.end() && at->is_object())
    if (const auto order = at->find("order"); order != at->end() && order->is_string())
      result.order = order->get<std::string>();
  result.end_is_known = summary.is_object() && summary.contains("exit_code");  // not of one that was imported
  if (!summary.is_object()) return;
  result.exit_code = number<int>(summary, "exit_code");
  result.signal = number<int>(summary, "signal");
  if (const auto at = summary.find("events"); at != summary.end() && at->is_object()) {
    result.events.forks = number<uint64_t>(*at, "forks");
    result.events.execs = number<uint64_t>(*at, "execs");
  }
  result.native_images = number<uint64_t>(summary, "native_programs");
  result.left_running = number<uint64_t>(summary, "left_running");
  if (const auto at = summary.find("processes"); at != summary.end() && at->is_array())
    for (const auto& p : *at)
      if (p.is_object() && p.contains("command") && p["command"].is_string())
        result.processes.push_back(
            {number<uint32_t>(p, "index"), number<int>(p, "pid"), p["command"].get<std::string>()});
  const auto threads = summary.find("threads");
  if (threads == summary.end() || !threads->is_array()) return;
  for (const auto& from : *threads) {
    if (!from.is_object()) continue;
    for (channel::ThreadReport& to : result.threads) {
      if (to.index != number<uint32_t>(from, "index")) continue;
      to.start_clock = number<uint64_t>(from, "start_clock");
      to.end_clock = number<uint64_t>(from, "end_clock");
      if (const auto ended = from.find("ended"); ended != from.end() && ended->is_boolean())
        to.ended = ended->get<bool>();
      if (const auto cut_off = from.find("cut_off"); cut_off != from.end() && cut_off->is_boolean())
        to.cut_off = cut_off->get<bool>();
      if (const auto s = from.find("statistics"); s != from.end() && s->is_object()) {
        to.statistics.stalls = number<uint64_t>(*s, "stalls");
        to.statistics.truncated_words = number<uint64_t>(*s, "truncated_words");
      }
    }
  }
}

}  // namespace simrun::cli

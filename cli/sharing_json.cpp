#include "cli/sharing_json.h"

#include "cli/json_report.h"

namespace simrun::cli {

namespace {

using Json = nlohmann::ordered_json;

const char* word(analysis::Verdict verdict) {
  switch (verdict) {
    case analysis::Verdict::kFalseSharing:
      return "false";
    case analysis::Verdict::kTrueSharing:
      return "true";
    case analysis::Verdict::kMixed:
      return "mixed";
    case analysis::Verdict::kNoMisses:
      break;
  }
  return "none";
}

const char* word(analysis::PlaceKind kind) {
  switch (kind) {
    case analysis::PlaceKind::kModule:
      return "variable";
    case analysis::PlaceKind::kHeap:
      return "heap";
    case analysis::PlaceKind::kMapping:
      return "mapping";
    case analysis::PlaceKind::kBreak:
      return "break";
    case analysis::PlaceKind::kStack:
      return "stack";
    case analysis::PlaceKind::kThread:
      return "thread";
    case analysis::PlaceKind::kUnknown:
      break;
  }
  return "unknown";
}

Json frames(const std::vector<analysis::SourceFrame>& list) {
  Json json = Json::array();
  for (const analysis::SourceFrame& f : list)
    json.push_back({{"function", f.function}, {"file", f.file}, {"line", f.line}});
  return json;
}

Json data(const analysis::DataName& d) {
  return {{"kind", word(d.kind)},
          {"object", d.object},
          {"member", d.member},
          {"offset", d.offset},
          {"size", d.size},
          {"declared", d.declared},
          {"allocated_by", d.allocated_by}};
}

Json use(const analysis::SharingUse& u) {
  return {{"thread", u.thread},
          {"line_offset", u.offset},
          {"bytes", u.bytes},
          {"reads", u.reads},
          {"writes", u.writes},
          {"prefetches", u.prefetches},
          {"fetches", u.fetches},
          {"false_sharing", u.false_misses},
          {"true_sharing", u.true_misses},
          {"upgrades", u.upgrades},
          {"dirty_transfers", u.transfers},
          {"data", data(u.data)},
          {"source", frames(u.frames)},
          {"module", u.module},
          {"pcs", u.pcs}};
}

Json line(const analysis::SharingLine& l) {
  Json json = {{"address", l.address},
               {"verdict", word(l.verdict)},
               {"coherence_misses", l.false_misses + l.true_misses},
               {"false_sharing", l.false_misses},
               {"true_sharing", l.true_misses},
               {"upgrades", l.upgrades},
               {"dirty_transfers", l.transfers},
               {"stall_cycles", l.stall_cycles},
               {"threads", l.threads},
               {"fix", l.fix},
               {"uses", Json::array()}};
  for (const analysis::SharingUse& u : l.uses) json["uses"].push_back(use(u));
  return json;
}

}  // namespace

Json sharing_json(const RunResult& result, const analysis::SharingReport& report) {
  Json json = {{"schema", kSharingSchema},
               {"command", result.command},
               {"machine", result.machine ? result.machine->name : ""},
               {"exit_status", result.shell_status()},
               {"complete", result.error.empty()},
               {"region", region_json(result.region)},
               {"instructions", result.totals().instructions},
               {"threads", result.threads.size()},
               {"line_bytes", report.line_bytes},
               {"lines_with_misses", report.lines},
               {"coherence_misses", report.false_misses + report.true_misses},
               {"false_sharing", report.false_misses},
               {"true_sharing", report.true_misses},
               {"upgrades", report.upgrades},
               {"dirty_transfers", report.transfers},
               {"stall_cycles", report.stall_cycles},
               {"lines", Json::array()}};
  for (const analysis::SharingLine& l : report.top) json["lines"].push_back(line(l));
  return json;
}

}  // namespace simrun::cli

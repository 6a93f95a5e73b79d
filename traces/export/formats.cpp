#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

constexpr ExportFormat kFormats[] = {
    {"champsim", ".champsimtrace.xz", "ChampSim: 64-byte records with registers and branches", true, false, false, false, false, make_champsim_exporter},
    {"din", ".din.gz", "DineroIV: label and address of each fetch, read and write", false, true, false, true, true, make_din_exporter},
    {"drmemtrace", ".trace.gz", "DynamoRIO's drmemtrace: the file of a thread", true, false, true, false, false, make_drmemtrace_exporter},
    {"ramulator-loadstore", ".loadstore", "Ramulator 2 LoadStoreTrace: LD/ST and address", false, true, false, true, false, make_ramulator_load_store_exporter},
    {"ramulator-o3", ".simpleo3", "Ramulator 2 SimpleO3: bubbles, load, store", true, true, false, true, false, make_ramulator_o3_exporter},
    {"dramsim3", ".dramsim3", "DRAMSim3 trace: address, READ or WRITE, cycle", false, true, false, true, false, make_dramsim3_exporter},
    {"gem5", ".gem5.gz", "gem5 packet trace (protobuf) for its traffic generator", false, true, false, true, false, make_gem5_exporter},
    {"csv", ".csv.gz", "a row for each instruction and reference", false, true, false, false, true, make_csv_exporter},
    {"text", ".txt.gz", "a line for each instruction, with bytes and references", false, false, false, false, false, make_text_exporter},
};

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

bool all_code_is_known(const Reader& trace, int64_t only_process) {
  for (uint32_t process = 0; process < trace.processes(); ++process) {
    if (only_process >= 0 && process != only_process) continue;
    const DescriptorTable& table = trace.process(process);
    for (uint32_t k = 0; k < table.superblocks(); ++k)
      if (table.superblock(k).code.empty()) return false;
  }
  return true;
}

}  // namespace simrun::traces

#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

constexpr ExportFormat kFormats[] = {
    {.name = "champsim", .ending = ".champsimtrace.xz", .summary = "ChampSim: 64-byte records with registers and branches", .make = make_champsim_exporter, .single_thread = true},
    {.name = "din", .ending = ".din.gz", .summary = "DineroIV: label and address of each fetch, read and write", .make = make_din_exporter, .takes_references_alone = true, .one_memory = true, .can_be_filtered = true},
    {.name = "drmemtrace", .ending = ".trace.gz", .summary = "DynamoRIO's drmemtrace: the file of a thread", .make = make_drmemtrace_exporter, .single_thread = true, .whole_areas = true},
    {.name = "ramulator-loadstore", .ending = ".loadstore", .summary = "Ramulator 2 LoadStoreTrace: LD/ST and address", .make = make_ramulator_load_store_exporter, .takes_references_alone = true, .one_memory = true},
    {.name = "ramulator-o3", .ending = ".simpleo3", .summary = "Ramulator 2 SimpleO3: bubbles, load, store", .make = make_ramulator_o3_exporter, .single_thread = true, .takes_references_alone = true, .one_memory = true},
    {.name = "dramsim3", .ending = ".dramsim3", .summary = "DRAMSim3 trace: address, READ or WRITE, cycle", .make = make_dramsim3_exporter, .takes_references_alone = true, .one_memory = true},
    {.name = "gem5", .ending = ".gem5.gz", .summary = "gem5 packet trace (protobuf) for its traffic generator", .make = make_gem5_exporter, .takes_references_alone = true, .one_memory = true},
    {.name = "csv", .ending = ".csv.gz", .summary = "a row for each instruction and reference", .make = make_csv_exporter, .takes_references_alone = true, .can_be_filtered = true},
    {.name = "text", .ending = ".txt.gz", .summary = "a line for each instruction, with bytes and references", .make = make_text_exporter},
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

#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

constexpr ExportFormat kFormats[] = {
    {"champsim", "ChampSim: 64-byte records with registers and branches", true, make_champsim_exporter},
    {"din", "DineroIV: label and address of each fetch, read and write", false, make_din_exporter},
    {"drmemtrace", "DynamoRIO's drmemtrace: the file of a thread", true, make_drmemtrace_exporter},
    {"ramulator-loadstore", "Ramulator 2 LoadStoreTrace: LD/ST and address", false, make_ramulator_load_store_exporter},
    {"ramulator-o3", "Ramulator 2 SimpleO3: bubbles, load, store", true, make_ramulator_o3_exporter},
    {"gem5", "gem5 packet trace (protobuf) for its traffic generator", false, make_gem5_exporter},
    {"csv", "a row for each instruction and reference", false, make_csv_exporter},
    {"text", "a line for each instruction, with bytes and references", false, make_text_exporter},
};

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

}  // namespace simrun::traces

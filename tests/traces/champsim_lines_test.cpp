// Which lines a record of ChampSim names, when references cross lines or are more than it has room for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "tests/traces/made_trace.h"
#include "traces/export/champsim_record.h"
#include "traces/export/formats.h"
#include "traces/import/formats.h"
#include "traces/reader.h"

namespace simrun::traces {
namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Exported {
  ChampsimRecord record{};
  uint64_t left_out = 0;
};

Exported exported(const std::vector<MemoryReference>& references, const std::vector<uint8_t>& code = {}, uint8_t flags = 0) {
  const ScratchDirectory scratch;
  CompressedOutput out(scratch.file("x"));
  const auto exporter = make_champsim_exporter(out, {});
  InstructionRecord instruction;
  instruction.pc = 0x401000;
  instruction.references = references;
  instruction.code = code;
  instruction.flags = flags;
  exporter->on_instruction(instruction);
  exporter->finish();
  out.finish();
  Exported made;
  const std::string bytes = contents(scratch.file("x"));
  EXPECT_EQ(bytes.size(), sizeof made.record);
  std::memcpy(&made.record, bytes.data(), std::min(bytes.size(), sizeof made.record));
  made.left_out = exporter->left_out();
  return made;
}

using Read = std::array<uint64_t, 4>;
using Written = std::array<uint64_t, 2>;
Read read_by(const ChampsimRecord& r) { return std::to_array(r.source_memory); }
Written written_by(const ChampsimRecord& r) { return std::to_array(r.destination_memory); }

TEST(ChampsimLines, AReferenceGivesEachLineThatItTouches) {
  EXPECT_EQ(read_by(exported({{0x1038, 8, OperandKind::kLoad}}).record), (Read{0x1038}));
  const Exported load = exported({{0x103c, 8, OperandKind::kLoad}});
  EXPECT_EQ(read_by(load.record), (Read{0x103c, 0x1040}));
  EXPECT_EQ(written_by(load.record), Written{});
  EXPECT_EQ(load.left_out, 0u);
  const Exported both = exported({{0x103c, 8, OperandKind::kReadModifyWrite}});
  EXPECT_EQ(read_by(both.record), (Read{0x103c, 0x1040}));
  EXPECT_EQ(written_by(both.record), (Written{0x103c, 0x1040}));
  EXPECT_EQ(read_by(exported({{0x1000, 64, OperandKind::kLoad}}).record), (Read{0x1000}));
  EXPECT_EQ(read_by(exported({{~uint64_t{3}, 8, OperandKind::kLoad}}).record), (Read{~uint64_t{3}}));
}

// What is left out is counted, and what is long takes no place from another.
TEST(ChampsimLines, WhatHasNoPlaceIsCounted) {
  const Exported stores = exported({{0x103f, 4, OperandKind::kStore}, {0x2000, 4, OperandKind::kStore}});
  EXPECT_EQ(written_by(stores.record), (Written{0x103f, 0x2000}));
  EXPECT_EQ(stores.left_out, 1u);
  const Exported state = exported({{0x1000, 512, OperandKind::kStore}});
  EXPECT_EQ(written_by(state.record), (Written{0x1000, 0x1040}));
  EXPECT_EQ(state.left_out, 1u);
  const Exported same = exported({{0x103c, 8, OperandKind::kLoad}, {0x1044, 8, OperandKind::kLoad}});
  EXPECT_EQ(read_by(same.record), (Read{0x103c, 0x1044}));  // both lines are there
  EXPECT_EQ(same.left_out, 0u);
}

// docs/trace-conversion.md, "champsim": each class has numbers of its own.
TEST(ChampsimRegisters, OfX87MmxAndMasks) {
  const auto names = [](const std::vector<uint8_t>& code, uint8_t read, uint8_t written) {
    const ChampsimRecord r = exported({}, code).record;
    EXPECT_NE(std::count(std::begin(r.source_registers), std::end(r.source_registers), read), 0) << int{read};
    EXPECT_NE(std::count(std::begin(r.destination_registers), std::end(r.destination_registers), written), 0) << int{written};
  };
  names({0xd8, 0xc1}, 101, 100);              // fadd st0, st1
  names({0x0f, 0xfe, 0xc8}, 110, 111);        // paddd mm1, mm0
  names({0xc5, 0xf8, 0x90, 0xd1}, 121, 122);  // kmovw k2, k1
  names({0x48, 0x01, 0xd8}, 35, 32);          // add rax, rbx
}

// A mask field of 0 is no mask: k0 is not read.
TEST(ChampsimRegisters, WithoutAMask) {
  const auto read = [](const std::vector<uint8_t>& code) { return std::to_array(exported({}, code).record.source_registers); };
  using Sources = std::array<uint8_t, 4>;
  EXPECT_EQ(read({0x62, 0xf1, 0x75, 0x48, 0xfe, 0xd1}), (Sources{65}));            // vpaddd zmm2, zmm1, zmm1
  EXPECT_EQ(read({0x62, 0xf1, 0x75, 0x49, 0xfe, 0xd1}), (Sources{66, 121, 65}));  // vpaddd zmm2{k1}, zmm1, zmm1
  EXPECT_EQ(read({0xc5, 0xf8, 0x93, 0xc0}), (Sources{120}));                       // kmovw eax, k0
}

TEST(ChampsimRegisters, OfBranchesAndStringInstructions) {
  const auto names = [](const std::vector<uint8_t>& code, uint8_t flags, std::set<int> read, std::set<int> written) {
    const ChampsimRecord r = exported({}, code, flags).record;
    read.insert(0), written.insert(0);
    EXPECT_EQ((std::set<int>{0, r.source_registers[0], r.source_registers[1], r.source_registers[2], r.source_registers[3]}), read);
    EXPECT_EQ((std::set<int>{0, r.destination_registers[0], r.destination_registers[1]}), written);
  };
  names({0xff, 0x24, 0xca}, kEndsBlock | kIndirect, {33, 34}, {26});                    // jmp [rdx + rcx * 8]
  names({0xff, 0x14, 0xca}, kEndsBlock | kCall | kIndirect, {6, 26, 33, 34}, {6, 26});  // call [rdx + rcx * 8]
  names({0xff, 0x24, 0x24}, kEndsBlock | kIndirect, {63}, {26});                        // jmp [rsp]: 6 would make it a return
  names({0xe2, 0xfe}, kEndsBlock | kConditional, {26, 33}, {26, 33});                   // loop
  names({0xe1, 0xfe}, kEndsBlock | kConditional, {25, 26, 33}, {26, 33});               // loope
  names({0x74, 0xfe}, kEndsBlock | kConditional, {25, 26}, {26});                       // jz
  names({0xae}, 0, {25, 32, 39}, {25, 39});                                             // scasb
  names({0xa6}, 0, {25, 38, 39}, {25, 38});                                             // cmpsb
  names({0xd7}, 0, {32, 35}, {32});                                                     // xlatb
}

// Sizes are guessed when such a trace is read: the guess must not cross a line.
TEST(ChampsimLines, AreTheSameAfterImportAndExport) {
  const ScratchDirectory scratch;
  ChampsimRecord record{};
  record.ip = 0x401000;
  record.source_memory[0] = 0x103f;
  record.destination_memory[0] = 0x207c;
  std::ofstream(scratch.file("c"), std::ios::binary).write(reinterpret_cast<const char*>(&record), sizeof record);
  {
    Writer writer(scratch.file("t"), {{"format", "simrun-trace-4"}});
    import_champsim(scratch.file("c"), writer);
    writer.finish({});
  }
  const Reader trace(scratch.file("t"));
  CompressedOutput out(scratch.file("again"));
  const auto exporter = make_champsim_exporter(out, {});
  walk(trace, {}, *exporter);
  exporter->finish();
  out.finish();
  EXPECT_EQ(contents(scratch.file("again")), contents(scratch.file("c")));
}

}  // namespace
}  // namespace simrun::traces

// What single records of other simulators' formats must not hold: what their readers refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <tuple>
#include <vector>

#include "tests/traces/made_trace.h"
#include "traces/export/drmemtrace_record.h"
#include "traces/export/formats.h"
#include "traces/references.h"

namespace simrun::traces {
namespace {

using ::testing::ElementsAre;

template <typename Feed>
std::string exported(std::unique_ptr<Exporter> (*make)(CompressedOutput&, const ExportOptions&), const ExportOptions& options, Feed&& feed) {
  const ScratchDirectory scratch;
  CompressedOutput out(scratch.file("x"));
  const auto exporter = make(out, options);
  feed(*exporter);
  exporter->finish();
  out.finish();
  std::ifstream in(scratch.file("x"), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

InstructionRecord with(const std::vector<MemoryReference>& references) {
  InstructionRecord i;
  i.references = references;
  return i;
}

// Ramulator 2 reads bubbles by std::stoi.
TEST(RamulatorO3, BubblesFitAnInt) {
  const std::vector<MemoryReference> load = {{0x1000, 8, OperandKind::kLoad}}, store = {{0x2000, 8, OperandKind::kStore}};
  const std::string text = exported(make_ramulator_o3_exporter, {}, [&](Exporter& e) {
    e.pass_instructions(2'147'483'648);
    e.on_begun_string(with(load));
    e.pass_instructions(2'147'483'647);
    e.on_begun_string(with(load));
    e.pass_instructions(5'000'000'000);
    e.on_begun_string(with(store));
  });
  EXPECT_EQ(text, "2147483647 0\n1 4096\n2147483647 4096\n2147483647 4096\n2147483647 4096\n705032706 8192 8192\n");
}

// A marker of where an indirect branch goes may not be 0 (DynamoRIO's tools/invariant_checker.cpp).
TEST(DrmemtraceExport, AnIndirectBranchThatNobodyKnowsTheTargetOfIsLeftOut) {
  const auto file = [](uint64_t behind_return) {
    return exported(make_drmemtrace_exporter, {}, [&](Exporter& e) {
      InstructionRecord i;
      i.pc = 0x401000, i.length = 1, i.next_pc = 0x401001;
      const std::vector<uint8_t> nop = {0x90}, ret = {0xc3};
      i.code = nop;
      e.on_instruction(i);
      i.pc = 0x401001, i.flags = kEndsBlock | kIndirect | kReturn, i.next_pc = behind_return, i.number = 1;
      i.code = ret;
      e.on_instruction(i);
    });
  };
  constexpr size_t kRecordBytes = 12, kReturnRecords = 3;   // its bytes, its target, itself
  EXPECT_EQ(file(0).size() + kReturnRecords * kRecordBytes, file(0x402000).size());
}

// The kernel was not asked before the handler, so there is no marker of the call, and the checker demands one behind each.
TEST(DrmemtraceExport, ACallThatASignalComesBeforeIsWrittenOnce) {
  const auto file = [](uint64_t interrupted) {
    return exported(make_drmemtrace_exporter, {}, [&](Exporter& e) {
      InstructionRecord i;
      const std::vector<uint8_t> call = {0x0f, 0x05}, nop = {0x90};
      const auto make_call = [&] {
        i.pc = 0x401000, i.length = 2, i.next_pc = 0x401002, i.flags = kEndsBlock | kSystemCall;
        i.code = call;
        e.on_instruction(i);
        ++i.number;
      };
      make_call();
      const std::vector<uint64_t> signal = {14, interrupted}, enter = {39, 0};
      EventRecord event;
      event.event = static_cast<uint32_t>(Event::kSignal);
      event.payload = signal;
      e.on_event(event);
      i.pc = 0x402000, i.length = 1, i.next_pc = 0x402001, i.flags = 0;
      i.code = nop;
      e.on_instruction(i);
      ++i.number;
      make_call();
      event.event = static_cast<uint32_t>(Event::kSyscallEnter);
      event.payload = enter;
      e.on_event(event);
    });
  };
  constexpr size_t kRecordBytes = 12;
  const auto calls = [&](const std::string& bytes) {
    size_t count = 0;
    for (size_t at = 0; at + kRecordBytes <= bytes.size(); at += kRecordBytes)
      count += bytes[at] == 10 && bytes[at + 2] == 2;   // an instruction of two bytes
    return count;
  };
  EXPECT_EQ(calls(file(0x401000)), 1u);
  EXPECT_EQ(calls(file(0x401002)), 2u);   // behind the call
}

TEST(WholeAreas, WhateverTheMask) {
  using Reference = std::tuple<OperandKind, uint64_t, uint32_t>;
  const auto areas = [](const Operand& o, const std::vector<uint64_t>& words, std::span<const XsaveComponent> components = {}) {
    std::vector<Reference> made;
    whole_area(o, words.data(), {{}, components}, [&](OperandKind kind, uint64_t address, uint32_t bytes) { made.emplace_back(kind, address, bytes); });
    return made;
  };
  Operand o;
  o.form = OperandForm::kMasked;
  o.kind = OperandKind::kStore;
  o.size = 4, o.lanes = 8, o.word_a = 0, o.word_b = 1, o.shift = 3, o.disp = 16, o.word_c = 2;
  for (const uint64_t mask : {0x00u, 0x81u, 0xffu})
    EXPECT_THAT(areas(o, {0x1000, 2, mask}), ElementsAre(Reference{OperandKind::kStore, 0x1020, 32}));
  o.form = OperandForm::kXsave;
  o.size = 0, o.word_b = kNoWord, o.disp = 0, o.word_c = 1;
  const std::vector<XsaveComponent> components = {{2, 576, 256}, {5, 1088, 64}, {9, 2688, 8}};
  EXPECT_THAT(areas(o, {0x2000, 0x3, 0}, components), ElementsAre(Reference{OperandKind::kStore, 0x2000, 576}));
  EXPECT_THAT(areas(o, {0x2000, 0x27, 0}, components), ElementsAre(Reference{OperandKind::kStore, 0x2000, 1152}));
}

}  // namespace
}  // namespace simrun::traces

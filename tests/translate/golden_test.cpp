// Compares emitted code with the text kept in golden/*.txt (README.md).
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "instr/engine/context/thread_context.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kHot = 0x7ffff8010000, kCold = 0x7ffffa000000, kLeave = 0x7ffff8000040;
const char* const kRegisters[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};

std::map<uint64_t, std::string> context_fields() {
  std::map<uint64_t, std::string> fields = {{offsetof(ThreadContext, buffer), "buffer"},
                                            {offsetof(ThreadContext, limit), "limit"},
                                            {offsetof(ThreadContext, indirect_mask), "indirect_mask"},
                                            {offsetof(ThreadContext, retired), "retired"},
                                            {offsetof(ThreadContext, flags_spill), "flags_spill"},
                                            {offsetof(ThreadContext, lent_pointer), "lent_pointer"},
                                            {offsetof(ThreadContext, minus_limit), "minus_limit"},
                                            {offsetof(ThreadContext, string_bytes), "string_bytes"},
                                            {offsetof(ThreadContext, exit_id), "exit_id"},
                                            {offsetof(ThreadContext, app_fs_base), "app_fs_base"},
                                            {offsetof(ThreadContext, app_gs_base), "app_gs_base"},
                                            {offsetof(ThreadContext, comparisons_left), "comparisons_left"},
                                            {kIndirectTableOffset, "indirect_table"}};
  for (uint32_t r = 0; r < 16; ++r) fields[offsetof(ThreadContext, spill) + 8 * r] = std::string("spill.") + kRegisters[r];
  return fields;
}

// gs:[0x...] by the field's name.
std::string with_names(std::string line) {
  static const auto fields = context_fields();
  if (line.find("gs:[") == std::string::npos) return line;
  for (const auto& [offset, name] : fields) {
    char number[24];
    std::snprintf(number, sizeof number, "0x%lX]", offset);
    if (const size_t at = line.find(number); at != std::string::npos) return line.replace(at, std::string(number).size(), name + "]");
  }
  return line;
}

std::string disassemble(const std::vector<uint8_t>& code, uint32_t size, uint64_t address) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisFormatter formatter;
  ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
  std::string text;
  for (uint32_t at = 0; at < size;) {
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char line[160];
    const auto status = ZydisDecoderDecodeFull(&decoder, code.data() + at, size - at, &instruction, operands);
    char place[24];
    std::snprintf(place, sizeof place, "  +%03x  ", at);
    if (!ZYAN_SUCCESS(status)) {   // newer than it
      Instruction newer;
      if (!decode(code.data() + at, size - at, AppAddress{address + at}, newer)) return text + "does not decode\n";
      text += std::string(place) + "bytes";
      for (uint32_t k = 0; k < newer.length; ++k, ++at) {
        std::snprintf(line, sizeof line, " %02x", code[at]);
        text += line;
      }
      text += "\n";
      continue;
    }
    ZydisFormatterFormatInstruction(&formatter, &instruction, operands, instruction.operand_count_visible, line, sizeof line,
                                    address + at, nullptr);
    text += place + with_names(line) + "\n";
    at += instruction.length;
  }
  return text;
}

struct Case {
  std::string head;          // everything up to and including "---\n"
  std::string expected;
  uint64_t pc = 0;
  bool watch = false;        // the first instruction is watched (mode: watch)
  border::Mode mode = border::Mode::kNull;
  bool count_paths = false;
  bool unroll = false;       // mode: ... unrolled
  bool live = false;         // mode: trace live
  bool calls_off = false;    // look-ups: called off
  bool changeable = false;   // memory: changeable
  bool fs_is_ours = false;   // fs: ours
  uint64_t view = 0;         // how far away the code is executed
  std::vector<uint8_t> code;
};

Case read_case(const std::filesystem::path& path) {
  Case c;
  std::ifstream file(path);
  std::string line;
  bool below = false;
  while (std::getline(file, line)) {
    (below ? c.expected : c.head) += line + "\n";
    if (below) continue;
    if (line == "---") below = true;
    if (line.starts_with("pc: ")) c.pc = std::stoull(line.substr(4), nullptr, 16);
    if (line.starts_with("view: ")) c.view = std::stoull(line.substr(6), nullptr, 16) - kHot;
    if (line == "mode: watch") c.watch = true, c.mode = border::Mode::kTrace;
    if (line.starts_with("mode: trace")) c.mode = border::Mode::kTrace;
    if (line.starts_with("mode: count")) c.mode = border::Mode::kCount;
    if (line.starts_with("mode: count paths")) c.count_paths = true;
    if (line.starts_with("mode: ") && line.ends_with(" unrolled")) c.unroll = true;
    if (line == "mode: trace live") c.live = true;
    if (line == "look-ups: called off") c.calls_off = true;
    if (line == "memory: changeable") c.changeable = true;
    if (line == "fs: ours") c.fs_is_ours = true;
    if (!line.starts_with("code: ")) continue;
    std::istringstream bytes(line.substr(6));
    for (std::string b; bytes >> b;) c.code.push_back(static_cast<uint8_t>(std::stoul(b, nullptr, 16)));
  }
  return c;
}

std::string translate(const Case& c) {
  DecodedSuperblock superblock{};
  superblock.pc = AppAddress{c.pc};
  superblock.changeable = c.changeable;
  for (uint32_t at = 0; at < c.code.size();) {
    Instruction& i = superblock.instructions[superblock.count++];
    if (!decode(c.code.data() + at, static_cast<uint32_t>(c.code.size() - at), AppAddress{c.pc + at}, i)) return "does not decode\n";
    at += i.length;
  }
  if (c.unroll) unroll_loop(kMaxSuperblockInstructions, c.count_paths ? kMaxCountedPasses : kMaxConditionalExits, superblock);
  border::WatchedEntries watched{1, {c.pc}};
  Translator translator({.mode = c.mode,
                         .leave = kLeave,
                         .watched = c.watch ? &watched : nullptr,
                         .count_paths = c.count_paths,
                         .pext_is_fast = c.calls_off,
                         .live_pointer = c.live,
                         .counts_comparisons = c.changeable,
                         .fs_is_ours = c.fs_is_ours});
  std::vector<uint8_t> hot(Translator::size_bound(superblock)), cold(hot.size());
  Assembler out(hot.data(), kHot), out_cold(cold.data(), kCold);
  TranslationOutput output;
  translator.translate(superblock, Purpose::kOrdinary, entry_liveness(superblock, false).flags_dead, 1000, 16, out, out_cold, output, c.view);
  std::string text = "hot\n" + disassemble(hot, output.size, kHot + c.view) + "cold\n" + disassemble(cold, output.cold_size, kCold + c.view);
  for (const auto& p : output.paths)
    text += "path: " + std::to_string(p.instructions) + " instructions, " + std::to_string(p.operands) + " operands, " + std::to_string(p.words) + " words\n";
  for (const auto& o : output.operands) {
    char line[120];
    std::snprintf(line, sizeof line, "operand of instruction %u: word %d + (word %d << %u) %+ld, %u bytes\n", o.instruction,
                  static_cast<int16_t>(o.word_a), static_cast<int16_t>(o.word_b), o.shift, o.disp, o.size);
    text += line;
  }
  return text;
}

class Golden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, EmitsTheKeptCode) {
  const Case c = read_case(GetParam());
  ASSERT_FALSE(c.code.empty()) << GetParam();
  const std::string text = translate(c);
  if (std::getenv("SIMRUN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GetParam()) << c.head << text;
    return;
  }
  EXPECT_EQ(text, c.expected) << "if the change is wanted: SIMRUN_UPDATE_GOLDEN=1";
}

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(SIMRUN_GOLDEN_DIRECTORY)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace simrun::engine

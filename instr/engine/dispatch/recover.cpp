#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "base/check.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/descriptor_tables.h"
#include "instr/engine/dispatch/translations.h"

namespace simrun::engine {
namespace {

void find_late_words(const DecodedSuperblock& decoded, const TranslationOutput& output, const RecoveryPoint& point, uint32_t at, Recovery& result) {
  result.late_words[0] = result.late_words[1] = border::kNoWord;
  if (at != point.offset || point.instruction == 0) return;
  uint32_t found = 0;
  for (const border::OperandDescriptor& d : output.operands) {
    if (d.instruction + 1u != point.instruction || d.form != border::OperandForm::kRepeatString || found == std::size(result.late_words)) continue;
    result.late_words[found++] = d.word_c;
    result.late_register = string_register(decoded.instructions[d.instruction]);
  }
}

void find_begun_string(const DecodedSuperblock& decoded, const TranslationOutput& output, const RecoveryPoint& point, Recovery& result) {
  result.begun_word = border::kNoWord;
  for (const border::OperandDescriptor& d : output.operands) {
    if (d.instruction != point.instruction || d.form != border::OperandForm::kRepeatString || d.word_b > point.words) continue;
    result.begun_word = d.word_b;
    result.begun_register = string_register(decoded.instructions[d.instruction]);
    result.begun_bytes = static_cast<uint8_t>(d.size);
    result.begun_narrow = (d.flags & border::kAddress32) != 0;
    return;
  }
}

}  // namespace

Recovery recover(uint64_t code) {
  Translations& s = *g_translations;
  Recovery result{};
  const uint32_t offset = g_code_cache.offset_of(code);
  auto after = std::upper_bound(s.superblocks.begin(), s.superblocks.end(), offset,
                                [](uint32_t o, const Superblock& b) { return o < b.start; });
  if (after == s.superblocks.begin()) return result;
  const Superblock& superblock = *(after - 1);
  if (offset >= superblock.code_end) return result;
  // The same translation again, elsewhere, pretending to be there.
  auto decoded = std::make_unique<DecodedSuperblock>();
  const auto copy = s.bytes.find(static_cast<uint32_t>(&superblock - s.superblocks.data()));
  if (copy != s.bytes.end())
    form_superblock_from(copy->second.data(), static_cast<uint32_t>(copy->second.size()), superblock.pc, *decoded);
  else
    form(superblock.pc, superblock.purpose, superblock.instructions, *decoded);   // it could go on where more has become executable since
  if (decoded->count != superblock.instructions) return result;   // the bytes have changed
  std::vector<uint8_t> scratch(Translator::size_bound(*decoded)), cold_scratch(Translator::size_bound(*decoded));
  const uint64_t start = g_code_cache.address(superblock.start);
  Assembler out(scratch.data(), start), cold(cold_scratch.data(), g_code_cache.address(superblock.cold));
  Translator translator(s.options);
  TranslationOutput output;
  translator.translate(*decoded, superblock.purpose, superblock.flags_dead, 0, 0, out, cold, output, view_of(superblock), superblock.buffer_register,
                       superblock.calls_again);
  if (output.size != superblock.code_end - superblock.start) return result;   // the bytes have changed
  const uint32_t at = offset - superblock.start;
  const RecoveryPoint* point = nullptr;
  for (const RecoveryPoint& p : output.recovery)
    if (p.offset <= at) point = &p;
  CHECK(point != nullptr);
  result.found = true;
  result.pc = point->instruction < decoded->count ? decoded->instructions[point->instruction].pc : superblock.end;
  result.in_spill = point->in_spill;
  result.pointer_register = point->pointer_in_register ? output.buffer_register : kNoRegister;
  result.instructions = point->instruction;
  result.words = point->words;
  result.counted = point->counted;
  result.moved = point->moved;
  find_late_words(*decoded, output, *point, at, result);
  find_begun_string(*decoded, output, *point, result);
  result.blocks = point->blocks;
  result.string_element = point->string_element;
  result.whole = point->instruction == decoded->count;
  result.stale = point->comparing ? output.stale + view_of(superblock) : 0;
  result.last_path = s.options.describes_paths() ? last_path_of(superblock.descriptor) : 0;
  return result;
}

SuperblockPlace find_superblock(AppAddress pc) {
  const std::vector<Superblock>& all = g_translations->superblocks;
  for (auto b = all.rbegin(); b != all.rend(); ++b)
    if (pc - b->pc < b->end - b->pc) return {true, b->pc, b->end, b->instructions, b->start, b->code_end};
  return {};
}

}  // namespace simrun::engine

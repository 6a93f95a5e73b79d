#include "cli/phases/path_blocks.h"

#include "instr/border/descriptors.h"

namespace simrun::cli {

namespace {

bool ends_block(const channel::PathCode::Instruction& i) { return (i.flags & border::kEndsBlock) != 0; }

}  // namespace

void CodeLinks::grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  for (const Entry& entry : old)
    if (entry.used) entries_[place_of(entry.pc)] = entry;
}

PathBlocks& PathBlockTable::learn(uint64_t word, const channel::PathCode& code) {
  if (word >= paths_.size()) paths_.resize(std::max<size_t>(word + 1, 2 * paths_.size()));
  PathBlocks& made = paths_[word];
  made.first_pc = made.lowest_pc = made.highest_pc = code.instructions[0].pc;
  made.instructions = static_cast<uint32_t>(code.instructions.size());
  for (const auto& instruction : code.instructions) made.addresses.push_back(instruction.pc);
  const auto& last = code.instructions.back();
  const Link behind = follow(last.pc + last.length);
  BlockPiece piece{behind.to, 0, behind.final};
  uint64_t last_page = ~uint64_t{0};
  for (auto i = code.instructions.rbegin(); i != code.instructions.rend(); ++i) {
    if (ends_block(*i)) {
      if (piece.instructions != 0) made.pieces.push_back(piece);
      piece = {i->pc, 0, true};
    }
    ++piece.instructions;
    Link& link = links_[i->pc];
    if (!link.final) link = {piece.block, piece.resolved};
    made.lowest_pc = std::min(made.lowest_pc, i->pc);
    made.highest_pc = std::max(made.highest_pc, i->pc);
    if (last_page == i->pc >> 12) continue;
    last_page = i->pc >> 12;
    std::vector<uint32_t>& page = pages_[last_page];
    if (page.empty() || page.back() != word) page.push_back(static_cast<uint32_t>(word));
  }
  made.pieces.push_back(piece);
  std::reverse(made.pieces.begin(), made.pieces.end());
  for (BlockPiece& each : made.pieces)
    if (each.resolved) each.index = index_of(each.block);
  return made;
}

// Ends: each step leads to a higher address.
PathBlockTable::Link PathBlockTable::follow(uint64_t pc) const {
  for (;;) {
    const Link* const link = links_.find(pc);
    if (link == nullptr) return {pc, false};
    if (link->final) return *link;
    pc = link->to;
  }
}

uint32_t PathBlockTable::index_of(uint64_t block) {
  const auto [found, is_new] = index_of_block_.emplace(block, static_cast<uint32_t>(blocks_.size()));
  if (is_new) blocks_.push_back(block);
  return found->second;
}

void PathBlockTable::resolve(BlockPiece& piece) {
  const Link end = follow(piece.block);
  piece.block = end.to;
  piece.index = index_of(end.to);
  piece.resolved = end.final;
}

uint32_t PathBlockTable::block_of(const channel::PathCode& code, uint32_t i) {
  for (; i < code.instructions.size(); ++i)
    if (ends_block(code.instructions[i])) return index_of(code.instructions[i].pc);
  const auto& last = code.instructions.back();
  return index_of(follow(last.pc + last.length).to);
}

std::vector<uint32_t> PathBlockTable::paths_around(uint64_t pc) const {
  std::vector<uint32_t> found;
  const auto page = pages_.find(pc >> 12);
  if (page == pages_.end()) return found;
  for (const uint32_t word : page->second)
    if (paths_[word].lowest_pc <= pc && pc <= paths_[word].highest_pc) found.push_back(word);
  return found;
}

uint32_t occurrences(const channel::PathCode& code, uint64_t pc, uint32_t instructions) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < instructions && i < code.instructions.size(); ++i) count += code.instructions[i].pc == pc;
  return count;
}

}  // namespace simrun::cli

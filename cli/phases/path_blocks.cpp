#include "cli/phases/path_blocks.h"

#include <algorithm>

#include "instr/border/descriptors.h"

namespace simrun::cli {

namespace {

bool ends_block(const channel::PathInstruction& i) { return (i.flags & border::kEndsBlock) != 0; }

}  // namespace

PathBlocks& PathBlockTable::learn(uint64_t word, PathInstructions instructions) {
  if (word >= paths_.size()) {
    paths_.resize(std::max<size_t>(word + 1, 2 * paths_.size()));
    places_.resize(paths_.size());
  }
  PathBlocks& made = paths_[word];
  PathPlace& place = places_[word];
  made.instructions = static_cast<uint32_t>(instructions.size());
  made.first_piece = static_cast<uint32_t>(pieces_.size());
  place = {instructions[0].pc, instructions[0].pc, addresses_.size()};
  for (const auto& instruction : instructions) addresses_.push_back(instruction.pc);
  const auto& last = instructions.back();
  Link block = follow(last.pc + last.length);
  uint32_t of_block = 0;
  uint64_t last_page = ~uint64_t{0};
  for (auto i = instructions.rbegin(); i != instructions.rend(); ++i) {
    if (ends_block(*i)) {
      add_piece(block, of_block);
      block = {i->pc, true};
      of_block = 0;
    }
    ++of_block;
    Link& link = links_[i->pc];
    if (!link.final) link = block;
    place.lowest_pc = std::min(place.lowest_pc, i->pc);
    place.highest_pc = std::max(place.highest_pc, i->pc);
    if (last_page == i->pc >> 12) continue;
    last_page = i->pc >> 12;
    std::vector<uint32_t>& page = pages_[last_page];
    if (page.empty() || page.back() != word) page.push_back(static_cast<uint32_t>(word));
  }
  add_piece(block, of_block);
  std::reverse(pieces_.begin() + made.first_piece, pieces_.end());
  made.pieces = static_cast<uint16_t>(pieces_.size() - made.first_piece);
  return made;
}

void PathBlockTable::add_piece(const Link& block, uint32_t instructions) {
  if (instructions == 0) return;
  if (block.final) {
    pieces_.push_back({number_of(block.to), instructions, 0});
  } else {
    pieces_.push_back({static_cast<uint32_t>(open_.size()), instructions, 1});
    open_.push_back(block.to);
  }
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

uint32_t PathBlockTable::number_of(uint64_t block) {
  uint32_t& number = number_of_block_[block];
  if (number == 0) {
    blocks_.push_back(block);
    number = static_cast<uint32_t>(blocks_.size());
  }
  return number - 1;
}

// The block of an open piece. If its end is known now, the piece has it from now on.
uint32_t PathBlockTable::close(BlockPiece& piece) {
  const Link end = follow(open_[piece.block]);
  const uint32_t number = number_of(end.to);
  if (end.final)
    piece.block = number, piece.open = 0;
  else
    open_[piece.block] = end.to;
  return number;
}

uint32_t PathBlockTable::block_of(PathInstructions code, uint32_t i) {
  for (; i < code.size(); ++i)
    if (ends_block(code[i])) return number_of(code[i].pc);
  const auto& last = code.back();
  return number_of(follow(last.pc + last.length).to);
}

std::vector<uint32_t> PathBlockTable::paths_around(uint64_t pc) const {
  std::vector<uint32_t> found;
  const std::vector<uint32_t>* const page = pages_.find(pc >> 12);
  if (page == nullptr) return found;
  for (const uint32_t word : *page)
    if (places_[word].lowest_pc <= pc && pc <= places_[word].highest_pc) found.push_back(word);
  return found;
}

uint32_t occurrences(PathInstructions code, uint64_t pc, uint32_t instructions) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < instructions && i < code.size(); ++i) count += code[i].pc == pc;
  return count;
}

}  // namespace simrun::cli

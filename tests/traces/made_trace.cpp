#include "tests/traces/made_trace.h"

#include <cstdlib>
#include <filesystem>

#include "base/tile_configuration.h"

namespace simrun::traces {

MadeTrace::MadeTrace(uint64_t seed, uint32_t superblocks, bool tiles) : random_(seed), tiles_(tiles) {
  uint64_t pc = 0x400000;
  for (uint32_t k = 0; k < superblocks; ++k) {
    superblocks_.push_back(make_superblock(pc));
    const Superblock& s = superblocks_.back();
    pc += 16 * s.instructions.size() + number(64);
    const auto whole = static_cast<uint16_t>(s.instructions.size());
    const auto words = static_cast<uint16_t>(s.word_registers.size());
    paths_.push_back({k, whole, static_cast<uint16_t>(s.operands.size()), words});
    // A prefix: all words, so that any operand of it finds its own.
    if (const auto part = static_cast<uint16_t>(1 + number(whole)); part != whole) {
      uint16_t operands = 0;
      while (operands < s.operands.size() && s.operands[operands].instruction < part) ++operands;
      paths_.push_back({k, part, operands, words});
    }
  }
}

Operand MadeTrace::make_operand(uint16_t instruction, uint16_t* words) {
  const auto word = [&](uint16_t count) {
    const auto first = static_cast<uint16_t>(*words + 1);
    *words = static_cast<uint16_t>(*words + count);
    return first;
  };
  Operand o;
  o.instruction = instruction;
  o.kind = static_cast<OperandKind>(number(kOperandKinds));
  o.size = 1u << number(4);
  o.disp = static_cast<int64_t>(number(4096)) - 2048;
  o.shift = static_cast<uint8_t>(number(4));
  o.word_a = number(8) == 0 ? kNoWord : *words != 0 && number(2) == 0 ? static_cast<uint16_t>(1 + number(*words)) : word(1);
  const uint64_t form = number(20);
  if (form == 0) {
    o.form = OperandForm::kRepeatString;
    o.word_b = word(1);
    o.word_c = word(1);
  } else if (form == 1) {
    o.form = OperandForm::kVectorIndex;
    o.lanes = static_cast<uint8_t>(4 << number(2));
    o.index_bytes = number(2) == 0 ? 4 : 8;
    o.mask_lane = number(2) == 0 ? 0 : o.index_bytes;
    o.word_b = word(static_cast<uint16_t>((o.lanes * o.index_bytes + 7) / 8));
    o.word_c = word(static_cast<uint16_t>(o.mask_lane == 0 ? 1 : (o.lanes * o.mask_lane + 7) / 8));
  } else if (form == 2) {
    o.form = OperandForm::kMasked;
    o.lanes = 8;
    o.modifier = number(2) == 0 ? OperandModifier::kPacked : OperandModifier::kNone;
    o.word_c = word(1);
  } else if (form == 3) {
    o.form = OperandForm::kXsave;
    o.size = 0;
    o.word_c = word(2);
  } else if (form == 11 && tiles_) {
    o.form = OperandForm::kTile;
    o.lanes = static_cast<uint8_t>(number(kTiles));
    o.size = 64;
    o.word_b = word(1);
    o.word_c = word(kTileWords);
  } else if (form == 4) {
    o.modifier = OperandModifier::kBitOffset;
    o.word_c = word(1);
  } else if (form == 5) {
    o.modifier = OperandModifier::kByteIndex;
    o.word_b = word(1);
  } else if (form < 10) {
    o.word_b = word(1);
  }
  const uint8_t flags[] = {0, 0, 0, kFsBase, kGsBase, kAddress32, kLocked, kStack};
  o.flags = flags[number(8)];
  return o;
}

Superblock MadeTrace::make_superblock(uint64_t pc) {
  Superblock s;
  s.pc = pc;
  uint16_t words = 0;
  int32_t offset = 0;
  const uint64_t count = 1 + number(12);
  for (uint16_t k = 0; k < count; ++k) {
    const auto length = static_cast<uint8_t>(1 + number(15));
    s.instructions.push_back({offset, length, static_cast<uint8_t>(k + 1u == count ? kEndsBlock | kIndirect : 0)});
    for (uint8_t b = 0; b < length; ++b) s.code.push_back(static_cast<uint8_t>(number(256)));
    offset += length;
    for (uint64_t n = number(3); n != 0; --n) s.operands.push_back(make_operand(k, &words));
  }
  for (uint16_t k = 0; k < words; ++k) s.word_registers.push_back(static_cast<uint8_t>(number(17)));
  return s;
}

void MadeTrace::describe(DescriptorTable& table) const {
  for (const Superblock& s : superblocks_) table.add_superblock(s);
  for (const Path& p : paths_) table.add_path(p);
}

std::vector<uint64_t> MadeTrace::paths(uint32_t count, uint64_t* instructions) {
  std::vector<uint64_t> words;
  if (bases_.empty())
    for (uint32_t k = 0; k < 64; ++k) bases_.push_back(number(uint64_t{1} << 46));
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t path = number(4) == 0 ? number(paths_.size()) : step_++ % paths_.size();
    const Path& p = paths_[path];
    *instructions += p.instructions;
    words.push_back(kFirstPath + path);
    for (uint16_t w = 0; w < p.words; ++w) {
      uint64_t& base = bases_[(path + w) % 64];
      base = number(50) == 0 ? random_() : base + 8 * (w % 3);
      words.push_back(base);
    }
    // String instructions: a bounded distance between before and after.
    for (const Operand& o : superblocks_[p.superblock].operands)
      if (o.form == OperandForm::kRepeatString && o.instruction < p.instructions)
        words[words.size() - p.words - 1 + o.word_c] =
            words[words.size() - p.words - 1 + o.word_b] + (number(64) - 32) * o.size;
  }
  return words;
}

std::vector<uint64_t> MadeTrace::event(uint32_t later) {
  switch (number(6)) {
    case 0: return {static_cast<uint64_t>(Event::kSyscallEnter) | uint64_t{2} << 32, number(300), number(2)};
    case 1: return {static_cast<uint64_t>(Event::kFsBase) | uint64_t{1} << 32, number(uint64_t{1} << 46)};
    case 2: return {static_cast<uint64_t>(Event::kGsBase) | uint64_t{1} << 32, number(uint64_t{1} << 46)};
    case 3: return {static_cast<uint64_t>(Event::kSignal) | uint64_t{1} << 32, 1 + number(64)};
    case 4: return cut();
    default: return {later | uint64_t{3} << 32, random_(), number(9), ~uint64_t{0}};
  }
}

// Between two instructions, with all words, so that any operand before finds its own.
std::vector<uint64_t> MadeTrace::cut() {
  const uint64_t path = number(paths_.size());
  const Path& p = paths_[path];
  std::vector<uint64_t> event = {static_cast<uint64_t>(Event::kCut) | uint64_t{3u + p.words} << 32, kFirstPath + path,
                                 number(superblocks_[p.superblock].instructions.size()), 0};
  for (uint16_t w = 0; w < p.words; ++w) event.push_back(number(uint64_t{1} << 46));
  for (const Operand& o : superblocks_[p.superblock].operands)
    if (o.form == OperandForm::kRepeatString) event[3u + o.word_c] = event[3u + o.word_b] + 8 * o.size;
  return event;
}

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "simrun_traces_XXXXXX").string();
  path_ = mkdtemp(name.data());
}

ScratchDirectory::~ScratchDirectory() { std::filesystem::remove_all(path_); }

std::vector<std::vector<uint64_t>> write_made_trace(const std::string& path, uint64_t seed, uint32_t threads,
                                                    uint32_t chunks, WriterOptions options, uint32_t later, bool tiles) {
  MadeTrace made(seed, 40, tiles);
  options.chunk_words = 5000;
  Writer writer(path, {{"command", {"made", std::to_string(seed)}}}, options);
  constexpr uint32_t kProcesses = 3;  // the second has no thread
  writer.add_process({.pid = 1000, .command = "made"});
  writer.add_process({ProcessRecord::Origin::kForked, 0, 7, 1001, 0, "made child"});
  writer.add_process({ProcessRecord::Origin::kExecuted, 1, 0, 1001, 0, "made other"});
  for (uint32_t p = 0; p < kProcesses; p += 2) {
    made.describe(writer.process(p));
    writer.add_module({p, "/made/program", "0123456789abcdef", 0x400000, 0x500000, 0x1000});
  }
  std::vector<std::vector<uint64_t>> all(threads);
  for (uint32_t t = 0; t < threads; ++t) writer.start_thread(t, t % 2 * 2, 1000 + t, 64 * t, 0);
  uint64_t words = 0;
  while (words < options.chunk_words * chunks) {
    const auto t = static_cast<uint32_t>(made.number(threads));
    uint64_t instructions = 0;
    const auto count = static_cast<uint32_t>(1 + made.number(30));
    const std::vector<uint64_t> paths = made.paths(count, &instructions);
    writer.add_paths(t, paths, count, instructions);
    all[t].insert(all[t].end(), paths.begin(), paths.end());
    words += paths.size();
    if (made.number(4) != 0) continue;
    const std::vector<uint64_t> event = made.event(later);
    const bool is_cut = static_cast<uint32_t>(event[0]) == static_cast<uint32_t>(Event::kCut);
    writer.add_event(t, event, is_cut ? event[2] : 0);
    all[t].insert(all[t].end(), event.begin(), event.end());
  }
  writer.finish({{"exit_code", 0}});
  return all;
}

}  // namespace simrun::traces

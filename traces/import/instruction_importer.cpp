#include "traces/import/instruction_importer.h"

namespace simrun::traces {

namespace {

template <class Value>
void append(std::string& key, const Value& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint64_t distance(const InstructionImporter::Instruction& i, uint64_t iterations) {
  const uint64_t bytes = iterations * i.references[0].bytes;
  return i.runs_down ? 0 - bytes : bytes;
}

}  // namespace

void InstructionImporter::add_process(uint32_t pid) {
  ProcessRecord record;
  record.pid = pid;
  writer_.add_process(record);
}

void InstructionImporter::add_thread(uint32_t process, uint32_t tid) {
  flush();
  thread_ = static_cast<uint32_t>(threads_.size());
  threads_.push_back(process);
  writer_.start_thread(thread_, process, tid, 0, 0);
}

void InstructionImporter::add_only_thread() {
  add_process(0);
  add_thread(0, 0);
}

void InstructionImporter::continue_thread(uint32_t thread) {
  if (thread == thread_) return;
  flush();
  thread_ = thread;
}

uint32_t InstructionImporter::path_of(const Instruction& i) {
  key_.clear();
  append(key_, threads_[thread_]);
  append(key_, i.pc);
  append(key_, i.length);
  append(key_, i.flags);
  append(key_, i.iterations != 0);
  append(key_, !i.code.empty());
  key_.append(reinterpret_cast<const char*>(i.code.data()), i.code.size());
  for (const Reference& r : i.references) {
    append(key_, r.kind);
    append(key_, r.bytes);
  }
  if (const auto at = paths_.find(std::string_view(key_)); at != paths_.end()) return at->second;
  return paths_[key_] = make_path(i);
}

// An address word for each reference; of a repeated string instruction the address before and after.
uint32_t InstructionImporter::make_path(const Instruction& i) {
  Superblock s;
  s.pc = i.pc;
  s.instructions.push_back({0, i.length, i.flags});
  s.code.assign(i.code.begin(), i.code.end());
  uint16_t words = 0;
  for (const Reference& r : i.references) {
    Operand o;
    o.kind = r.kind;
    o.size = r.bytes;
    o.word_a = ++words;
    if (i.iterations != 0) {
      o.form = OperandForm::kRepeatString;
      o.word_b = o.word_a;
      o.word_c = ++words;
    }
    s.operands.push_back(o);
  }
  s.word_registers.assign(words, kOtherWord);
  DescriptorTable& table = writer_.process(threads_[thread_]);
  return table.add_path({table.add_superblock(s), 1, static_cast<uint16_t>(s.operands.size()), words});
}

void InstructionImporter::add(const Instruction& i) {
  constexpr uint64_t kHeld = 4096;
  words_.push_back(path_of(i));
  for (const Reference& r : i.references) {
    words_.push_back(r.address);
    if (i.iterations != 0) words_.push_back(r.address + distance(i, i.iterations));
  }
  if (++held_ == kHeld) flush();
}

void InstructionImporter::add(uint64_t pc, uint8_t length, uint8_t flags, std::span<const Reference> references) {
  add(Instruction{.pc = pc, .length = length, .flags = flags, .references = references});
}

void InstructionImporter::add_cut(const Instruction& i) {
  std::vector<uint64_t> words{0, path_of(i), 0, i.runs_down ? 0 - i.iterations : i.iterations};
  for (const Reference& r : i.references) words.insert(words.end(), {r.address, r.address});
  words[0] = static_cast<uint64_t>(Event::kCut) | (words.size() - 1) << 32;
  add_event(words);
}

void InstructionImporter::add_event(std::span<const uint64_t> words) {
  flush();
  writer_.add_event(thread_, words);
}

void InstructionImporter::flush() {
  if (held_ != 0) writer_.add_paths(thread_, words_, held_, held_);
  words_.clear();
  held_ = 0;
}

}  // namespace simrun::traces

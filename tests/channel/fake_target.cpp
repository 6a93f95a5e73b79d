#include "tests/channel/fake_target.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "instr/channel/doorbell.h"

namespace simrun::channel {

using namespace border;

namespace {

constexpr uint32_t kEntries = 1 << 18;

constexpr uint64_t page_up(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

}  // namespace

OperandDescriptor address_operand(OperandKind kind, uint16_t word_a, uint32_t size, int64_t disp, uint16_t word_b,
                                  uint8_t shift, uint8_t flags) {
  OperandDescriptor o{};
  o.kind = kind;
  o.form = OperandForm::kAddress;
  o.flags = flags;
  o.shift = shift;
  o.word_a = word_a;
  o.word_b = word_b;
  o.word_c = kNoWord;
  o.size = size;
  o.disp = disp;
  return o;
}

FakeTarget::FakeTarget(uint32_t chunk_bytes, uint32_t chunks, uint64_t slot_bytes) {
  uint64_t at = page_up(sizeof(ProcessHeader));
  const auto place = [&](uint64_t bytes) { return std::exchange(at, at + page_up(bytes)); };
  const uint64_t slots = place(slot_bytes * kMaxThreads);
  const uint64_t hand_overs = place(uint64_t{kMaxThreads} * kHandOvers * sizeof(HandOver));
  const uint64_t rings = place(uint64_t{chunk_bytes} * chunks * kMaxThreads);
  const uint64_t instructions = place(kEntries * sizeof(InstructionDescriptor));
  const uint64_t operands = place(kEntries * sizeof(OperandDescriptor));
  const uint64_t superblocks = place(kEntries * sizeof(SuperblockDescriptor));
  const uint64_t paths = place(kEntries * sizeof(PathDescriptor));
  const uint64_t code = place(16 * kEntries);
  void* memory = mmap(nullptr, at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  memory_ = static_cast<char*>(memory);
  header_ = new (memory_) ProcessHeader{};
  header_->magic = kMagic;
  header_->version = kVersion;
  header_->header_bytes = sizeof(ProcessHeader);
  header_->mapping_bytes = at;
  header_->target_base = reinterpret_cast<uint64_t>(memory_);
  header_->mode = Mode::kTrace;
  header_->ring_chunk_bytes = chunk_bytes;
  header_->ring_chunks = chunks;
  header_->slots_offset = slots;
  header_->slot_bytes = slot_bytes;
  header_->hand_overs_offset = hand_overs;
  header_->rings_offset = rings;
  header_->instructions_offset = instructions;
  header_->operands_offset = operands;
  header_->superblocks_offset = superblocks;
  header_->paths_offset = paths;
  header_->code_offset = code;
  header_->code_capacity = 16 * kEntries;
  header_->instruction_capacity = header_->operand_capacity = header_->superblock_capacity = header_->path_capacity =
      kEntries;
  header_->paths = kFirstPath;
  header_->engine_state = 1;
}

FakeTarget::~FakeTarget() { munmap(memory_, header_->mapping_bytes); }

ThreadSlot& FakeTarget::slot(uint32_t index) const {
  return *reinterpret_cast<ThreadSlot*>(memory_ + header_->slots_offset + header_->slot_bytes * index);
}

uint64_t* FakeTarget::ring(uint32_t index) const {
  return reinterpret_cast<uint64_t*>(memory_ + header_->rings_offset +
                                     uint64_t{header_->ring_chunk_bytes} * header_->ring_chunks * index);
}

OperandDescriptor& FakeTarget::operand(uint32_t index) const {
  return reinterpret_cast<OperandDescriptor*>(memory_ + header_->operands_offset)[index];
}

InstructionDescriptor& FakeTarget::instruction(uint32_t index) const {
  return reinterpret_cast<InstructionDescriptor*>(memory_ + header_->instructions_offset)[index];
}

PathDescriptor& FakeTarget::path(uint32_t id) const {
  return reinterpret_cast<PathDescriptor*>(memory_ + header_->paths_offset)[id];
}

uint32_t FakeTarget::add_path(uint64_t pc, const std::vector<FakeInstruction>& instructions, uint16_t words) {
  auto* instruction_table = reinterpret_cast<InstructionDescriptor*>(memory_ + header_->instructions_offset);
  auto* superblock_table = reinterpret_cast<SuperblockDescriptor*>(memory_ + header_->superblocks_offset);
  SuperblockDescriptor superblock{pc, header_->instructions, header_->operands, 0, 0, 0};
  int32_t offset = 0;
  for (const FakeInstruction& i : instructions) {
    instruction_table[superblock.first_instruction + superblock.instructions] = {
        offset, i.length, i.flags, static_cast<uint16_t>(i.operands.size())};
    for (OperandDescriptor o : i.operands) {
      o.instruction = superblock.instructions;
      operand(superblock.first_operand + superblock.operands++) = o;
    }
    ++superblock.instructions;
    offset += i.length;
  }
  header_->instructions += superblock.instructions;
  header_->operands += superblock.operands;
  const uint32_t index = header_->superblocks++;
  superblock_table[index] = superblock;
  const uint32_t id = header_->paths;
  path(id) = {index, superblock.instructions, superblock.operands, words, 0, 0};
  header_->paths.store(id + 1, std::memory_order_release);
  return id;
}

uint32_t FakeTarget::add_prefix(uint32_t of, uint16_t instructions, uint16_t words) {
  const uint32_t id = header_->paths;
  path(id) = path(of);
  path(id).instructions = instructions;
  path(id).words = words;
  const auto& superblock =
      reinterpret_cast<SuperblockDescriptor*>(memory_ + header_->superblocks_offset)[path(of).superblock];
  uint16_t operands = 0;
  while (operands < superblock.operands && operand(superblock.first_operand + operands).instruction < instructions)
    ++operands;
  path(id).operands = operands;
  header_->paths.store(id + 1, std::memory_order_release);
  return id;
}

uint32_t FakeTarget::add_plain(uint64_t pc, uint16_t instructions) {
  return add_path(pc, std::vector<FakeInstruction>(instructions), 0);
}

Producer::Producer(FakeTarget& target, uint32_t slot, uint32_t tid)
    : target_(target), slot_number_(slot), slot_(target.slot(slot)), ring_(target.ring(slot)), tid_(tid) {
  slot_.ring_base = reinterpret_cast<uint64_t>(ring_);
  slot_.ring.produced.store(0);
  slot_.ring.written.store(slot_.ring_base);
  slot_.ring.tid.store(tid);
  slot_.ring.state.store(static_cast<uint32_t>(ThreadState::kRunning), std::memory_order_release);
  uint32_t used = target.header().slots_used;
  while (used < slot + 1 && !target.header().slots_used.compare_exchange_weak(used, slot + 1)) {
  }
}

void Producer::put(const uint64_t* words, size_t count) {
  const uint32_t chunk_words = target_.header().ring_chunk_bytes / 8;
  if (used_ + count >= chunk_words) switch_chunk();
  uint64_t* chunk = ring_ + sequence_ % target_.header().ring_chunks * chunk_words;
  std::copy(words, words + count, chunk + used_);
  used_ += static_cast<uint32_t>(count);
  slot_.ring.written.store(reinterpret_cast<uint64_t>(chunk + used_), std::memory_order_release);
}

void Producer::event(Event event, std::initializer_list<uint64_t> payload) {
  std::vector<uint64_t> words{event_word(event, static_cast<uint32_t>(payload.size()))};
  words.insert(words.end(), payload);
  put(words.data(), words.size());
}

void Producer::state(ThreadState state) {
  slot_.ring.state.store(static_cast<uint32_t>(state), std::memory_order_release);
  ring_consumer();
}

void Producer::hand_over(uint64_t object, uint64_t time, uint64_t units, uint64_t began) {
  auto* const all = reinterpret_cast<HandOver*>(reinterpret_cast<char*>(&target_.header()) + target_.header().hand_overs_offset);
  const uint64_t number = slot_.hand_overs;
  HandOver& h = all[slot_number_ * kHandOvers + number % kHandOvers];
  h.object = object, h.time = time, h.units = units, h.began = began;
  h.place = sequence_ * target_.header().ring_chunk_bytes + used_ * 8;
  slot_.hand_overs = number + 1;
}

void Producer::ring_consumer() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ring(target_.header().consumer_sleeps);
}

void Producer::switch_chunk() {
  const uint32_t chunks = target_.header().ring_chunks;
  slot_.ring.fill[sequence_ % chunks].store(used_, std::memory_order_release);
  const auto full = [&] { return sequence_ + 1 - slot_.ring.consumed.load(std::memory_order_seq_cst) >= chunks; };
  if (full()) {
    const uint32_t before = slot_.ring.state.load();
    state(ThreadState::kWaitingForSpace);
    while (full()) {
      slot_.ring.producer_sleeps.store(1, std::memory_order_seq_cst);
      if (full()) futex_wait(slot_.ring.producer_sleeps, 1, std::chrono::seconds(1));
      slot_.ring.producer_sleeps.store(0, std::memory_order_relaxed);
    }
    slot_.ring.state.store(before, std::memory_order_release);
  }
  ++sequence_;
  used_ = 0;
  slot_.ring.written.store(reinterpret_cast<uint64_t>(ring_ + sequence_ % chunks * (target_.header().ring_chunk_bytes / 8)),
                     std::memory_order_release);
  slot_.ring.produced.store(sequence_, std::memory_order_release);
  ring_consumer();
}

}  // namespace simrun::channel

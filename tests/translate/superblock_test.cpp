// Superblocks formed from memory that another thread writes to.
#include "instr/engine/translate/superblock.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <stop_token>
#include <thread>

#include "instr/engine/decode/form_cache.h"
#include "instr/engine/translate/address_space.h"

namespace simrun::engine {
namespace {

// What is decoded is what the bytes say that come with it; they are compared with memory before they run.
TEST(Superblock, IsOfBytesThatWereReadOnce) {
  constexpr std::array<std::array<uint8_t, 4>, 6> kVersions = {{
      {0xeb, 0x02, 0x0f, 0x0b}, {0x0f, 0x1f, 0x40, 0x00},    // jmp +2; nop
      {0x48, 0x83, 0x07, 0x01}, {0x8d, 0x74, 0x26, 0x00},    // add $1, (%rdi); lea 0(%rsi), %esi
      {0x48, 0x83, 0xc0, 0x08}, {0x48, 0x8d, 0x40, 0x08}}};  // add $8, %rax; lea 8(%rax), %rax
  auto* const code = static_cast<uint8_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  ASSERT_EQ(read_address_space(), 0);
  std::memcpy(code, kVersions[0].data(), 4);
  code[4] = 0xc3;
  const std::jthread writer([&](const std::stop_token& over) {
    std::array<uint32_t, kVersions.size()> words{};
    for (size_t k = 0; k < words.size(); ++k) std::memcpy(&words[k], kVersions[k].data(), 4);
    for (size_t k = 0; !over.stop_requested(); ++k) __atomic_store_n(reinterpret_cast<uint32_t*>(code), words[k % words.size()], __ATOMIC_RELAXED);
  });
  const AppAddress pc{reinterpret_cast<uint64_t>(code)};
  DecodedSuperblock formed;
  uint64_t wrong = 0;
  for (int round = 0; round < 200'000; ++round) {
    form_superblock(pc, 2, formed);
    ASSERT_GE(formed.count, 1u);
    const Instruction& first = formed.instructions[0];
    uint8_t bytes[16] = {};
    std::memcpy(bytes, first.bytes, first.length);
    Instruction again;
    if (!decode(bytes, 15, pc, again) || again.length != first.length || again.flow != first.flow || again.gpr_written != first.gpr_written ||
        again.memory_operands != first.memory_operands)
      ++wrong;
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace simrun::engine

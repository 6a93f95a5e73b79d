// Bytes beside expectation: what decode() says of chosen encodings, whole. A wrong line here is either a bug or a
// change of meaning that the engine has to follow.
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/decode/describe.h"

namespace simrun::engine {
namespace {

struct Expectation {
  const char* text;
  const char* bytes;
  const char* described;
};

constexpr Expectation kExpectations[] = {
#include "tests/decode/expectations.inc"
};

std::vector<uint8_t> from_hex(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string trimmed(std::string s) {
  while (!s.empty() && s.back() == ' ') s.pop_back();
  return s;
}

TEST(DecodeExpectation, Table) {
  for (const Expectation& e : kExpectations) {
    const std::vector<uint8_t> bytes = from_hex(e.bytes);
    Instruction i;
    ASSERT_TRUE(decode(bytes.data(), static_cast<uint32_t>(bytes.size()), AppAddress{0x401000}, i)) << e.text;
    EXPECT_EQ(i.length, bytes.size()) << e.text;
    EXPECT_EQ(trimmed(describe(i)), e.described) << e.text << " (" << e.bytes << ")";
  }
}

TEST(DecodeExpectation, EndsOfBlocks) {
  const auto flags = [](const char* hex) {
    const std::vector<uint8_t> bytes = from_hex(hex);
    Instruction i;
    EXPECT_TRUE(decode(bytes.data(), static_cast<uint32_t>(bytes.size()), AppAddress{0x401000}, i));
    return i.descriptor_flags;
  };
  using namespace border;
  EXPECT_EQ(flags("7400"), kEndsBlock | kConditional);         // jz
  EXPECT_EQ(flags("e2fe"), kEndsBlock | kConditional);         // loop
  EXPECT_EQ(flags("e800000000"), kEndsBlock | kCall);          // call
  EXPECT_EQ(flags("ffd0"), kEndsBlock | kCall | kIndirect);    // call rax
  EXPECT_EQ(flags("ffe0"), kEndsBlock | kIndirect);            // jmp rax
  EXPECT_EQ(flags("c3"), kEndsBlock | kReturn | kIndirect);    // ret
  EXPECT_EQ(flags("f3c3"), kEndsBlock | kReturn | kIndirect);  // repz ret: no string instruction
  EXPECT_EQ(flags("f2ffe0"), kEndsBlock | kIndirect);          // bnd jmp rax
  EXPECT_EQ(flags("0f05"), kSyscallGate);
  EXPECT_EQ(flags("f3aa"), kRepeats);
  EXPECT_EQ(flags("0f0b"), 0);
}

TEST(DecodeExpectation, InvalidBytes) {
  for (const char* hex : {"06", "27", "62", "ea0000000000", "f00fc8", "f08bc0", "0f04", "c4", "8f", "4866", "f0"}) {
    const std::vector<uint8_t> bytes = from_hex(hex);
    Instruction i;
    EXPECT_FALSE(decode(bytes.data(), static_cast<uint32_t>(bytes.size()), AppAddress{0x401000}, i)) << hex;
    EXPECT_EQ(i.length, 0);
    EXPECT_EQ(i.flow, Flow::kUnsupported);
  }
}

// The decoder's constant configuration is what Zydis's own initialiser would make, but for MPX: bndmov then is a nop
// without operands.
TEST(DecodeExpectation, MpxIsNop) {
  const std::vector<uint8_t> bndmov = from_hex("660f1a07");
  Instruction i;
  ASSERT_TRUE(decode(bndmov.data(), 4, AppAddress{0x401000}, i));
  EXPECT_EQ(trimmed(describe(i)), "next ; ; ; ; nop");
}

}  // namespace
}  // namespace simrun::engine

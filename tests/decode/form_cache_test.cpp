// decode/form_cache.h says what the ordinary decoder says: of random bytes, and of forms that come back with other numbers.
#include "instr/engine/decode/form_cache.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "instr/engine/decode/known_forms.h"
#include "tests/decode/describe.h"

namespace simrun::engine {
namespace {

std::string hex(const uint8_t* bytes) {
  std::string text;
  char two[4];
  for (int k = 0; k < 15; ++k) {
    std::snprintf(two, sizeof two, "%02x", bytes[k]);
    text += two;
  }
  return text;
}

// Random heads, now and then with prefixes, each with several random tails.
class Heads {
 public:
  explicit Heads(uint64_t seed) : random_(seed) {}
  void next_head() {
    for (uint8_t& b : bytes_) b = static_cast<uint8_t>(random_());
    static constexpr uint8_t kPrefixes[] = {0x66, 0xf2, 0xf3, 0x48, 0x0f, 0x64, 0x4c, 0xc5};
    const uint64_t choice = random_();
    size_t at = 0;
    while (at < 4 && (choice >> 8 * at & 3) == 0) bytes_[at] = kPrefixes[choice >> (8 * at + 2) & 7], ++at;
    head_ = at + 2 + random_() % 2;
  }
  void next_tail() {
    for (size_t k = head_; k < 15; ++k) bytes_[k] = static_cast<uint8_t>(random_());
    if (random_() % 4 == 0) std::memset(bytes_ + head_, random_() % 2 == 0 ? 0 : 0xff, 15 - head_);
  }
  const uint8_t* bytes() const { return bytes_; }
  uint64_t bits() { return random_(); }

 private:
  std::mt19937_64 random_;
  uint8_t bytes_[15];
  size_t head_ = 0;
};

void expect_what_the_decoder_says(uint64_t seed, const KnownForms* known) {
  const auto cache = std::make_unique<FormCache>();
  Heads heads(seed);
  for (int n = 0; n < 60'000; ++n) {
    heads.next_head();
    for (int tail = 0; tail < 6; ++tail) {
      heads.next_tail();
      const AppAddress pc{0x555500000000 + (heads.bits() & 0xffffffff)};
      const auto available = static_cast<uint32_t>(heads.bits() % 16 == 0 ? heads.bits() % 15 : 15);
      Instruction expected, found;
      const bool valid = decode(heads.bytes(), available, pc, expected);
      ASSERT_EQ(cache->decode(heads.bytes(), available, pc, found, known), valid) << hex(heads.bytes());
      ASSERT_TRUE(!valid || found == expected) << hex(heads.bytes()) << "\n" << describe(found) << "\n" << describe(expected);
    }
  }
}

TEST(FormCache, SaysWhatTheDecoderSays) { expect_what_the_decoder_says(7, nullptr); }

// Of each that was learnt when this was built, with other numbers, elsewhere.
TEST(KnownForms, SayWhatTheDecoderSays) {
  const auto cache = std::make_unique<FormCache>();
  std::mt19937_64 random(3);
  std::ifstream list(KNOWN_FORMS);
  uint32_t forms = 0;
  for (std::string text; list >> text; ++forms) {
    uint8_t code[15] = {};
    for (size_t k = 0; k < text.size() / 2; ++k) code[k] = static_cast<uint8_t>(std::stoul(text.substr(2 * k, 2), nullptr, 16));
    FormCache::Shape shape;
    ASSERT_TRUE(FormCache::shape_of(code, shape)) << text;
    for (int n = 0; n < 20; ++n) {
      for (uint32_t k = 0; k < shape.free_bytes; ++k) code[shape.from + k] = static_cast<uint8_t>(n == 0 ? 0x80 : n == 1 ? 0x7f : random());
      for (uint32_t k = shape.length; k < 15; ++k) code[k] = static_cast<uint8_t>(random());
      ASSERT_NE(simrun_known_forms.find(FormCache::key_of(code, shape)), nullptr) << text;
      const AppAddress pc{random() & 0x7fffffffffff};
      for (const bool narrow : {true, false}) {
        g_narrow_branches = narrow;
        Instruction expected, found;
        ASSERT_TRUE(decode(code, 15, pc, expected));
        ASSERT_TRUE(cache->decode(code, 15, pc, found, &simrun_known_forms));
        ASSERT_TRUE(found == expected) << hex(code) << "\n" << describe(found) << "\n" << describe(expected);
      }
    }
  }
  EXPECT_GT(forms, 5000u);
}

// Those that are not known are learnt, and are not taken for one that is.
TEST(KnownForms, OthersAreLearnt) { expect_what_the_decoder_says(11, &simrun_known_forms); }

// Otherwise nothing would be gained.
TEST(FormCache, KnowsTheCommonForms) {
  static const char* const kCommon[] = {
      "\x55", "\x48\x89\xe5", "\x48\x83\xec\x20", "\xe8\x01\x02\x03\x04", "\x0f\x84\x10\x20\x00\x00", "\x74\x10", "\xeb\x10",
      "\x48\x8b\x05\x11\x22\x33\x44", "\x48\x8d\x7c\x24\x18", "\x8b\x44\x9a\x04", "\xc3", "\xb8\x01\x02\x03\x04",
      "\xc7\x45\xfc\x01\x02\x03\x04", "\x0f\xb6\x00", "\xf3\x0f\x1e\xfa", "\x66\x0f\x6f\x00", "\xc5\xf9\x6f\x00",
      "\xc4\xe2\x7d\x59\x00", "\xf7\xc1\x01\x02\x03\x04", "\xff\x15\x01\x02\x03\x04"};
  for (const char* text : kCommon) {
    uint8_t code[15] = {};
    std::memcpy(code, text, std::strlen(text));
    FormCache::Shape shape;
    Instruction i;
    ASSERT_TRUE(decode(code, 15, AppAddress{0x1000}, i));
    ASSERT_TRUE(FormCache::shape_of(code, shape)) << hex(code);
    EXPECT_EQ(shape.length, i.length) << hex(code);
  }
}

}  // namespace
}  // namespace simrun::engine

// Little-endian bytes and variable-length integers. The reading side trusts nothing: what is beyond its bytes, or longer
// than the type, throws FormatError.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/trace_error.h"

namespace simrun::traces {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1))); }

class ByteWriter {
 public:
  void byte(uint8_t value) { bytes_.push_back(value); }
  // 7 bits a byte, least significant first, the top bit set in all but the last (LEB128).
  void varint(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<uint8_t>(value));
  }
  void signed_varint(int64_t value) { varint(zigzag(value)); }
  // The lowest `count` bytes.
  void low_bytes(uint64_t value, uint32_t count) {
    uint8_t all[8];
    std::memcpy(all, &value, 8);
    bytes_.insert(bytes_.end(), all, all + count);
  }
  void raw(const void* data, size_t size) {
    const auto* from = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  void text(std::string_view value) {
    varint(value.size());
    raw(value.data(), value.size());
  }
  void column(const Bytes& value) {
    varint(value.size());
    raw(value.data(), value.size());
  }
  const Bytes& bytes() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }
  bool empty() const { return at_ == end_; }
  uint8_t byte() {
    if (at_ == end_) throw FormatError("ends too early");
    return *at_++;
  }
  uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) [[likely]]
      return *at_++;
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      const uint64_t next = byte();
      if (shift == 63 && next > 1) throw FormatError("an integer of more than 64 bits");
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    throw FormatError("an integer of more than 64 bits");
  }
  int64_t signed_varint() { return unzigzag(varint()); }
  // A varint that must not exceed `most`.
  uint64_t varint_up_to(uint64_t most, const char* what) {
    const uint64_t value = varint();
    if (value > most) throw FormatError(fmt::format("{} is {}, more than {}", what, value, most));
    return value;
  }
  uint64_t low_bytes(uint32_t count) {
    if (left() < count) throw FormatError("ends too early");
    uint64_t value = 0;
    if (left() >= sizeof value && count != 0) [[likely]] {
      std::memcpy(&value, at_, sizeof value);
      value &= ~uint64_t{0} >> (64 - 8 * count);
    } else {
      std::memcpy(&value, at_, count);
    }
    at_ += count;
    return value;
  }
  std::span<const uint8_t> raw(uint64_t size) {
    if (left() < size) throw FormatError("ends too early");
    const std::span<const uint8_t> part(at_, static_cast<size_t>(size));
    at_ += size;
    return part;
  }
  std::string text() {
    const auto part = raw(varint());
    return {part.begin(), part.end()};
  }
  ByteReader column() { return ByteReader(raw(varint())); }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace simrun::traces

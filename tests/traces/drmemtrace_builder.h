// drmemtrace's records, put together by hand: the numbers are those of DynamoRIO's trace_entry.h, said once more.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace simrun {

class DrmemtraceBuilder {
 public:
  static constexpr uint16_t kInstruction = 10, kJump = 11, kIndirectJump = 12, kConditional = 13, kCall = 14,
                            kIndirectCall = 15, kReturn = 16, kBundle = 17, kDataFlush = 20, kDataFlushEnd = 21,
                            kHeader = 25, kFooter = 26, kNoFetch = 29, kTaken = 48, kUntaken = 49;
  static constexpr uint16_t kKernelEvent = 0, kKernelTransfer = 1, kTimestamp = 2, kCpu = 3, kFileType = 9,
                            kVersion = 12, kWindow = 14, kChunkFooter = 21, kOrdinal = 22, kFilterEndpoint = 23,
                            kSyscall = 25, kMaybeBlocking = 26, kKernelStart = 27, kKernelEnd = 28, kTarget = 29;

  DrmemtraceBuilder& record(uint16_t type, uint16_t size, uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&type), 2);
    bytes_.append(reinterpret_cast<const char*>(&size), 2);
    bytes_.append(reinterpret_cast<const char*>(&value), 8);
    return *this;
  }
  DrmemtraceBuilder& header(uint64_t tid = 100, uint64_t version = 6, uint64_t file_type = 0x640) {
    record(kHeader, 0, version).marker(kVersion, version).marker(kFileType, file_type);
    return thread(tid).marker(10, 64).marker(18, 4096).marker(20, 10'000'000);
  }
  DrmemtraceBuilder& thread(uint64_t tid, uint64_t pid = 99) { return record(22, 4, tid).record(24, 4, pid); }
  DrmemtraceBuilder& marker(uint16_t kind, uint64_t value) { return record(28, kind, value); }
  DrmemtraceBuilder& time(uint64_t microseconds) { return marker(kTimestamp, microseconds).marker(kCpu, 3); }
  DrmemtraceBuilder& encoding(const std::vector<uint8_t>& code) {
    for (size_t at = 0; at < code.size(); at += 8) {
      uint64_t value = 0;
      const size_t some = std::min<size_t>(8, code.size() - at);
      std::memcpy(&value, code.data() + at, some);
      record(47, static_cast<uint16_t>(some), value);
    }
    return *this;
  }
  // An instruction with its bytes, as where it occurs first.
  DrmemtraceBuilder& code(uint64_t pc, const std::vector<uint8_t>& code, uint16_t type = kInstruction) {
    return encoding(code).record(type, static_cast<uint16_t>(code.size()), pc);
  }
  DrmemtraceBuilder& read(uint64_t address, uint16_t bytes) { return record(0, bytes, address); }
  DrmemtraceBuilder& write(uint64_t address, uint16_t bytes) { return record(1, bytes, address); }
  DrmemtraceBuilder& end() { return record(23, 4, 100).record(kFooter, 0, 0); }

  const std::string& bytes() const { return bytes_; }
  void save(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes_; }

 private:
  std::string bytes_;
};

// What occurs in the tests.
namespace code {
inline const std::vector<uint8_t> kLoad{0x48, 0x8b, 0x07};             // mov (%rdi), %rax
inline const std::vector<uint8_t> kAdd{0x48, 0x01, 0x07};              // add %rax, (%rdi)
inline const std::vector<uint8_t> kNop{0x90};
inline const std::vector<uint8_t> kRepMovs{0xf3, 0x48, 0xa5};          // rep movsq
inline const std::vector<uint8_t> kSyscall{0x0f, 0x05};
inline const std::vector<uint8_t> kShortJump{0xeb, 0x10};              // 16 bytes on
inline const std::vector<uint8_t> kJumpIfZero{0x74, 0x10};
inline const std::vector<uint8_t> kJumpBack{0x75, 0xfb};            // 5 bytes back: jnz
inline const std::vector<uint8_t> kReturn{0xc3};
}  // namespace code

}  // namespace simrun

// DynamoRIO's drmemtrace: a file is records of 12 bytes. Names and numbers as in its clients/drcachesim/common/trace_entry.h
// (trace_type_t, trace_marker_type_t, offline_file_type_t, trace_version_t).
#pragma once

#include <cstdint>

namespace simrun::traces::drmemtrace {

enum class Type : uint16_t {
  kRead = 0,
  kWrite = 1,
  kPrefetch = 2,  // the first of eight kinds
  kPrefetchInstruction = 9,
  kInstruction = 10,
  kDirectJump = 11,
  kIndirectJump = 12,
  kConditionalJump = 13,  // before version 5
  kDirectCall = 14,
  kIndirectCall = 15,
  kReturn = 16,
  kBundle = 17,  // lengths of up to eight instructions that follow on the one before
  kInstructionFlush = 18,
  kInstructionFlushEnd = 19,
  kDataFlush = 20,
  kDataFlushEnd = 21,
  kThread = 22,  // whose the following records are
  kThreadExit = 23,
  kProcess = 24,
  kHeader = 25,
  kFooter = 26,
  kHardwarePrefetch = 27,
  kMarker = 28,
  kNoFetch = 29,     // a further iteration of a repeated string instruction
  kMaybeFetch = 30,  // an iteration: a further one when the instruction before has the same address
  kSysenter = 31,
  kFirstLevelPrefetch = 32,  // the first of 15 more kinds
  kLastLevelPrefetch = 46,
  kEncoding = 47,  // bytes of the next instruction
  kTakenJump = 48,
  kUntakenJump = 49,
};

enum class Marker : uint16_t {
  kKernelEvent = 0,     // a signal handler starts; value: where the thread was interrupted (from version 3 on)
  kKernelTransfer = 1,  // a handler has returned
  kTimestamp = 2,       // microseconds
  kCpu = 3,
  kFunctionId = 4,
  kFunctionReturnAddress = 5,
  kFunctionArgument = 6,
  kFunctionReturnValue = 7,
  kFileType = 9,
  kCacheLineBytes = 10,
  kVersion = 12,
  kWindow = 14,
  kPageBytes = 18,
  kChunkFooter = 21,
  kFilterEndpoint = 23,
  kSyscall = 25,
  kMaybeBlockingSyscall = 26,
  kSyscallTraceStart = 27,
  kSyscallTraceEnd = 28,
  kBranchTarget = 29,
  kContextSwitchStart = 34,
  kContextSwitchEnd = 35,
  kLastKnown = 36,
  kFirstOfUsers = 101,
};

enum FileType : uint64_t {
  kFiltered = 0x01,
  kInstructionsOnly = 0x04,
  kAarch64 = 0x08,
  kArm = 0x10,
  kX86 = 0x20,
  kX86_64 = 0x40,
  kInstructionsFiltered = 0x80,
  kDataFiltered = 0x100,
  kEncodings = 0x200,
  kSyscallNumbers = 0x400,
  kBlockingSyscalls = 0x800,  // kMaybeBlockingSyscall occurs
  kBimodal = 0x2000,  // filtered up to kFilterEndpoint
  kCoreSharded = 0x10000,
  kSyntheticIsa = 0x20000,  // DR_ISA_REGDEPS: encodings are not the processor's
  kWholeSystem = 0x40000,
  kAllKnownTypes = 0x7ffff,
};

inline constexpr uint64_t kOldestVersion = 2, kNewestVersion = 7;
inline constexpr uint64_t kVersionWithInterruptedPc = 3;
inline constexpr uint64_t kSigreturn = 15;  // system call

struct [[gnu::packed]] Record {
  uint16_t type;
  uint16_t size;   // bytes; the kind of a marker; instructions of a bundle
  uint64_t value;  // address; number; bytes
};
static_assert(sizeof(Record) == 12);

}  // namespace simrun::traces::drmemtrace

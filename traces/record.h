// What a trace holds, in memory: static descriptions of code, the words of threads, the turns in which they ran, modules.
// docs/trace-format.md defines each field; the on-disk form is the business of encode_*/decode_* and descriptor_table.
//
// The stream of a thread is a sequence of items. A *path* (a superblock executed from its entry to one of its exits) is its
// id followed by as many address words as its description says; an *event* is a word below kFirstPath in its low half, the
// number of its payload words in the high half, and the payload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simrun::traces {

inline constexpr uint32_t kFirstPath = 256;
inline constexpr uint16_t kNoWord = 0xffff;

// Several may be set.
enum InstructionFlags : uint8_t {
  kEndsBlock = 1,
  kConditional = 2,
  kCall = 4,
  kReturn = 8,
  kIndirect = 16,
  kRepeats = 32,
  kSystemCall = 64,
  kNop = 128,
};

struct StaticInstruction {
  int32_t offset;  // bytes from the superblock's pc
  uint8_t length;  // 1 to 15
  uint8_t flags;   // InstructionFlags
};

enum class OperandKind : uint8_t {
  kLoad,
  kStore,
  kReadModifyWrite,
  kPrefetch,
  kFlush,
  kNonTemporalLoad,
  kNonTemporalStore,
};
inline constexpr uint8_t kOperandKinds = 7;

enum class OperandForm : uint8_t { kAddress, kRepeatString, kVectorIndex, kMasked, kXsave, kRegisters, kTile };
enum class OperandModifier : uint8_t { kNone, kPacked, kBitOffset, kByteIndex };

enum OperandFlags : uint8_t {
  kLocked = 1,
  kFsBase = 2,
  kGsBase = 4,
  kAddress32 = 8,
  kStack = 16,
};

// Where the references of a memory operand come from; docs/trace-format.md, "Operands".
struct Operand {
  uint16_t instruction = 0;
  OperandKind kind = OperandKind::kLoad;
  OperandForm form = OperandForm::kAddress;
  OperandModifier modifier = OperandModifier::kNone;
  uint8_t flags = 0;
  uint8_t shift = 0;
  uint8_t lanes = 0, index_bytes = 0, mask_lane = 0;
  uint16_t word_a = kNoWord, word_b = kNoWord, word_c = kNoWord;
  uint32_t size = 0;
  int64_t disp = 0;
  bool operator==(const Operand&) const = default;
};

// Which register's value a word is: 0 to 15 in the processor's numbering, or kOtherWord. Only a hint for prediction: any
// value decodes to the same words.
inline constexpr uint8_t kOtherWord = 16;

// As a recorder gives it and a reader returns it.
struct Superblock {
  uint64_t pc = 0;
  std::vector<StaticInstruction> instructions;
  std::vector<uint8_t> code;  // the bytes of the instructions, one after the other; empty: not known
  std::vector<Operand> operands;
  std::vector<uint8_t> word_registers;  // of each address word, kOtherWord at the end may be left out
};

struct Path {
  uint32_t superblock = 0;  // in the order in which they were added to the process
  uint16_t instructions = 0, operands = 0, words = 0;
};

// The events whose meaning a reader of traces needs; others are kept and passed on.
enum class Event : uint32_t {
  kThreadStart = 1,  // tid, slot of the parent, FS base
  kThreadEnd = 2,
  kThreadCreate = 3,
  kThreadCreateFailed = 4,
  kSyscallEnter = 5,  // number, 1 if it may block; of futex operation, address, value, too
  kSyscallExit = 6,   // number, result; -512 (ERESTARTSYS): not done, a signal came first. Then the child whose end it told of, if it did
  kFsBase = 7,
  kGsBase = 8,
  kSignal = 9,  // number, address of the instruction before which it came (not in older and some imported traces)
  kCut = 10,  // path, instructions retired, iterations of the string instruction that was next (negative: downwards), words
  kMarker = 11,
  kExec = 12,
  kExecFailed = 13,
  kProcessFork = 14,
  kMappingChange = 15,
  // Made by the recorder:
  kCore = 200,          // core, 1 if another thread ran there since. From here on the thread is on that core
  kProcessStart = 201,  // 1 if its memory is from here on a copy of its parent's, 0 if it has an image of its own
  kProcessEnd = 202,    // it uses no memory any more
};

// One image in one process: an exec makes a new one.
struct ProcessRecord {
  enum class Origin : uint8_t { kLaunched, kForked, kExecuted };  // kLaunched: or attached to
  Origin origin = Origin::kLaunched;
  uint32_t parent = 0;             // who forked, or whose image it replaced; a smaller number than its own
  uint64_t token = 0;              // kForked: second word of the parent's kProcessFork
  uint32_t pid = 0;
  uint64_t first_instruction = 0;  // recorded before its first thread was there
  std::string command;
};
inline constexpr uint8_t kProcessOrigins = 3;

// A file mapped executable (or the vdso) in a process.
struct Module {
  uint32_t process = 0;
  std::string path;
  std::string build_id;  // hexadecimal; empty: none
  uint64_t start = 0, end = 0;
  uint64_t file_offset = 0;  // of `start`
};

// A thread within a chunk. `thread` numbers the threads of the whole recording in order of creation.
struct ThreadPart {
  uint32_t thread = 0, process = 0, tid = 0;
  uint64_t fs = 0, gs = 0;            // bases at the first word
  uint64_t first_instruction = 0;     // retired by this thread before the chunk, within the recording
  uint64_t items = 0, instructions = 0;
  std::vector<uint64_t> words;
};

struct Turn {
  uint32_t part = 0;  // index into Chunk::threads
  uint32_t items = 0;
};

// What a process has mapped of files when it starts.
struct MappedFile {
  uint64_t begin = 0, end = 0;  // addresses
  uint64_t offset = 0;          // in the file, bytes
  uint64_t device = 0, number = 0;
  bool shared = false;
  bool operator==(const MappedFile&) const = default;
};

// An event that changes what a process has mapped: kMappingChange, kProcessStart, kProcessEnd.
struct MemoryChange {
  uint32_t process = 0;
  std::vector<uint64_t> words;  // of the event, its first one included
  bool operator==(const MemoryChange&) const = default;
};
constexpr bool changes_memory(uint32_t event) {
  return event == static_cast<uint32_t>(Event::kMappingChange) ||
         event == static_cast<uint32_t>(Event::kProcessStart) || event == static_cast<uint32_t>(Event::kProcessEnd);
}

// What is encoded at once and decoded without anything but the descriptions.
struct Chunk {
  uint64_t first_instruction = 0, instructions = 0;  // of all threads, in recorded order
  std::vector<ThreadPart> threads;
  std::vector<Turn> turns;
};

// Bound of what a chunk may hold, so that damaged files cannot ask for more memory than a machine has.
inline constexpr uint64_t kMaxChunkWords = uint64_t{1} << 26;
inline constexpr uint32_t kMaxProcesses = 1u << 20;
inline constexpr uint32_t kMaxThreadsInTrace = 1u << 22;
inline constexpr uint32_t kMaxCores = 1u << 16;

}  // namespace simrun::traces

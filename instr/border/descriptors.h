// Static descriptions of translated code, written by the engine (append-only), read by the simulator.
//
// A *superblock* is what the engine translates at once: one entry, several exits. A *path* is a superblock executed from its
// entry up to one of its exits; the stream carries one block word (the path's id) for each execution of a path, followed by
// exactly `words` address words. All paths of a superblock are prefixes of its instructions, operands and words.
#pragma once

#include <cstdint>

namespace simrun::border {

// What an instruction is to the model and to phase analysis. Several bits may be set.
enum InstructionFlags : uint8_t {
  kEndsBlock = 1,        // control transfer: the next instruction starts a basic block
  kConditional = 2,      // conditional direct branch
  kCall = 4,
  kReturn = 8,
  kIndirect = 16,        // target from a register or memory (returns included)
  kRepeats = 32,         // rep/repe/repne prefix on a string instruction: retires once, whatever its count
  kSyscallGate = 64,     // syscall, sysenter, int
  kNop = 128,
};

struct InstructionDescriptor {
  int32_t offset;        // bytes from the superblock's pc (backward possible when a direct jump was followed)
  uint8_t length;        // bytes, 1..15
  uint8_t flags;         // InstructionFlags
  uint16_t operands;     // number of its memory operands (OperandDescriptors), in program order
};
static_assert(sizeof(InstructionDescriptor) == 8);

enum class OperandKind : uint8_t {
  kLoad,
  kStore,
  kReadModifyWrite,      // one reference that loads and stores
  kPrefetch,             // no architectural effect
  kFlush,                // clflush, clflushopt, clwb, cldemote
  kNonTemporalLoad,
  kNonTemporalStore,
};

// How the reference's address and size follow from the words.
enum class OperandForm : uint8_t {
  kAddress,              // one reference of `size` bytes at the address below
  kRepeatString,         // word_a: rsi or rdi before; word_b: rsi or rdi before, word_c: the same register after. Iterations are
                         // (word_c - word_b) / size in absolute value, the sign is the direction; iteration i touches
                         // word_a + disp + i * size * direction. A rep movs/cmps has two such operands, interleaved per iteration.
  kVectorIndex,          // gather/scatter: see VectorOperand; one reference of `size` bytes per active lane
  kMasked,               // masked vector load/store: base address as kAddress; lanes of `size` bytes by the mask words
  kXsave,                // xsave/xrstor family: legacy region and header, then the components selected by word_c (edx:eax as
                         // two words: word_c, word_c + 1). `size` is 0.
  kRegisters,            // no reference (watch_calls only): `lanes` words from word_b on hold registers before the instruction: rdi, rsi, rdx at
                         // the first instruction of a watched function, rax at a return
  kTile,                 // AMX tile load/store: rows `stride` = word[b] << shift apart from word[a] + disp on; their number and bytes are of tile
                         // `lanes` in the configuration that the kTileWords words from word_c on hold, as sttilecfg stores it. `size`: 64, the
                         // bytes of a row at most
};

enum OperandFlags : uint8_t {
  kLocked = 1,           // locked read-modify-write (lock prefix, or xchg with memory)
  kFsBase = 2,           // the thread's FS base is added
  kGsBase = 4,           // the application's own GS base is added
  kAddress32 = 8,        // address-size prefix: the effective address is truncated to 32 bits
  kStack = 16,           // implicit stack operand (push, pop, call, ret, ...)
};

enum class OperandModifier : uint8_t {
  kNone,
  kPacked,               // kMasked, compress and expand: popcount(mask) lanes are touched from the address on without gaps
  kBitOffset,            // kAddress, bt/bts/btr/btc with a bit offset in a register, whose value is word_c: taken as a signed number of `size`
                         // bytes and shifted right by log2(8 * size), times `size`, it is added to the address
  kByteIndex,            // kAddress, xlat: only the lowest byte of word_b counts
};

// Address of the operand = word[a] + (word[b] << shift) + disp (+ segment base). word[0] is the block word itself, whose value is
// the path's id; index kNoWord contributes 0. Indices count words from the block word of the path.
inline constexpr uint16_t kNoWord = 0xffff;

struct OperandDescriptor {
  uint16_t instruction;  // index within the superblock
  OperandKind kind;
  OperandForm form;
  uint8_t flags;         // OperandFlags
  uint8_t shift;         // 0..3
  uint16_t word_a;
  uint16_t word_b;
  uint16_t word_c;       // further word, see OperandForm
  uint32_t size;         // bytes of one reference (of one lane, of one iteration)
  int64_t disp;
  // kVectorIndex and kMasked:
  uint8_t lanes;         // number of lanes; kTile: number of the tile
  uint8_t index_bytes;   // kVectorIndex: bytes of one index (4 or 8), sign-extended; the index vector starts at word_b
  uint8_t mask_lane;     // 0: the mask is a bit mask (one word at word_c, bit i for lane i); else bytes of one mask lane in a vector that
                         // starts at word_c, lane active when its top bit is set (AVX2 gathers, vmaskmov); maskmovdqu: 1
  OperandModifier modifier;
  // Registers whose values word_a and word_b are, when the word was stored for this operand; else 0xff. No reference depends on them: trace
  // files predict words by them.
  uint8_t register_a, register_b;
  uint16_t spare;
};
static_assert(sizeof(OperandDescriptor) == 32);

struct SuperblockDescriptor {
  uint64_t pc;                 // application address of the first instruction
  uint32_t first_instruction;  // index into the instruction table
  uint32_t first_operand;      // index into the operand table
  uint16_t instructions;
  uint16_t operands;
  uint32_t first_code_byte;    // index into the code table: the bytes of its instructions as they were translated, one after the other
};
static_assert(sizeof(SuperblockDescriptor) == 24);

// Ids of paths start at kFirstPath: smaller first words are events (stream.h). The id is the index in the path table.
struct PathDescriptor {
  uint32_t superblock;         // index into the superblock table
  uint16_t instructions;       // prefix lengths
  uint16_t operands;
  uint16_t words;              // address words that follow the block word
  uint16_t spare;
  uint32_t spare2;
};
static_assert(sizeof(PathDescriptor) == 16);

inline constexpr uint32_t kFirstPath = 256;

}  // namespace simrun::border

// Superblocks: which application instructions are translated together, and what is known of each translation.
#pragma once

#include <cstdint>
#include <vector>

#include "instr/border/descriptors.h"
#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

inline constexpr uint32_t kMaxSuperblockInstructions = 64;
inline constexpr uint32_t kMaxConditionalExits = 8;
inline constexpr uint32_t kMaxUnrolledInstructions = 48;     // of a superblock that has several passes of a loop
// Passes of a loop, where blocks are counted (decision 35).
inline constexpr uint32_t kMaxCountedPasses = 4;
inline constexpr uint32_t kMaxChangeableInstructions = 12;   // of a superblock whose bytes are compared at each entry

// Links that go forwards in the application's code enter their targets behind the limit check: along them the addresses of the superblocks
// increase, so a thread comes to a check in the end. Where the number of instructions until then must be known (exact stops), superblock
// and target lie in one aligned window of so many bytes: on the way each instruction of it is executed once at most, then one superblock.
inline constexpr uint32_t kForwardWindow = 256;
constexpr bool is_forward(AppAddress superblock, AppAddress from, AppAddress to, bool within_window) {
  return raw(to) > raw(from) && (!within_window || (raw(to) ^ raw(superblock)) < kForwardWindow);
}

enum class ExitKind : uint8_t {
  kDirect,       // to `target`, can be linked
  kSyscall,      // the system call before `target`
  kCheck,        // the limit check called for the dispatcher; `target` is the superblock itself
  kUnsupported,  // `target` cannot be translated
  kSyscall32,    // the same by int 0x80
  kFsBase,       // `target` follows an instruction that has set the FS base
  kGsBase,       // the same of the GS base
  kPopFlags,     // `target` is a popf that sets the trap flag: it is to run alone, which is kUnsupported
  kFpuPointer,   // `target` stores x87's last instruction pointer, which is to be the application's (dispatch/fpu_pointers.h)
  kStale,        // the superblock's application bytes have changed; `target` is the superblock itself
  kCompared,     // code that can change was compared often (dispatch/stable_code.h); `target` is the superblock itself
};

// One way out of a superblock. Offsets are into the code cache; 0 means "none".
struct Exit {
  AppAddress target;
  uint32_t patch;               // displacement of the jump to the target's entry
  uint32_t patch_same_buffer;   // not in null mode: displacement of the jump taken when the target keeps the buffer pointer in the same register
  uint32_t superblock;
  ExitKind kind;
  bool forward;                 // is_forward: linked to the target's `body`
  bool linked;
  uint16_t words;               // trace mode: of its path, the id included
  uint32_t next = ~0u;          // another exit that waits for the same target or, when linked, leads to the same superblock
};

// What a translation is for. But for the ordinary ones they are in no table but that of the cut ones, check no limit, and are never linked to.
enum class Purpose : uint8_t {
  kOrdinary,
  kCut,          // to reach an exact count
  kAlone,        // one instruction that the dispatcher lets run (kFpuPointer), or runs itself (kPopFlags); its way out is linked
  kStep,         // one instruction under the trap flag: every way out is to the dispatcher
};

// A translated superblock.
struct Superblock {
  AppAddress pc;
  AppAddress end;               // one past its last application byte
  uint32_t start;               // code offset of its hot code: [start, code_end)
  uint32_t entry;               // code offset: all registers are the application's (null mode: in the hot code, else in the cold)
  uint32_t check;               // code offset: the buffer register is set up already (null mode: equals entry)
  uint32_t body;                // code offset: as at `check`, and the limit is checked; equals `check` when more than that is done there, and where nobody may pass it by (decision 39)
  uint32_t code_end;
  uint32_t cold;                // code offset of its cold code
  uint32_t first_exit;
  uint32_t indirect_entry;      // verifies the target in r11; 0 when it was never an indirect target
  uint32_t descriptor;          // border::SuperblockDescriptor index (trace mode)
  uint16_t exits;
  uint16_t instructions;
  uint8_t buffer_register;      // kNoRegister in null mode
  bool flags_dead;              // the arithmetic flags are overwritten before they are read
  bool calls_again;             // Translator::translate
  AppAddress looked_from, looked_to;   // application code that it depends on: its own, and what the liveness of flags was read off
  Purpose purpose;
  uint16_t level;               // trace mode: words that may have been stored since the last look at the limit where `body` is entered
  uint32_t incoming = ~0u;      // an exit that is linked here
};

// Decoded instructions of one superblock.
struct DecodedSuperblock {
  AppAddress pc;
  uint32_t count;
  bool changeable;         // the bytes can change at any time: compare them at each entry (docs/self-modifying-code.md)
  Instruction instructions[kMaxSuperblockInstructions];
};

// rdtsc and rdtscp are not copied: the dispatcher does them, and asks whether the thread may. Changes while the world is stopped.
extern bool g_traps_tsc;
// Nor is cpuid, where the processor has more than the decoder knows (decode/known_features.h). Set before anything is decoded.
extern bool g_answers_cpuid;
// Nor is what loads fs or gs, or needs the program's own base there, where the kernel has no instructions for the bases and both are ours.
extern bool g_bases_are_ours;

// How many of the bytes are there: a mapping may reach beyond the end of its file, which another program may have cut. Without the
// engine's careful read (g_can_read, for one byte): all.
extern bool (*g_can_read)(AppAddress at);
uint32_t readable_bytes(AppAddress pc, uint32_t wanted);

// Decodes from `pc` on until an unconditional transfer or a limit. Reads only memory that `executable_bytes` (address_space.h) allows.
// count is 0 when not even one instruction can be read or decoded.
void form_superblock(AppAddress pc, uint32_t max_instructions, DecodedSuperblock& out);

// A popf as the only instruction: done by the dispatcher, for it sets the trap flag or runs under it.
void leave_popf_to_dispatcher(DecodedSuperblock& superblock);

// When the superblock is a loop, a conditional jump back to its own start at its end: as many more passes behind it as fit, all of them
// whole, up to `most_passes`. The jumps back of all but the last are turned round: they leave the loop. (No instruction's address tells its pass.)
void unroll_loop(uint32_t max_instructions, uint32_t most_passes, DecodedSuperblock& superblock);

// The same from a copy of the bytes.
void form_superblock_from(const uint8_t* bytes, uint32_t size, AppAddress pc, DecodedSuperblock& out);

// Whether the function at `pc` may call another one directly before it comes to an indirect transfer or jumps backwards, whichever way it
// takes. Follows a few superblocks (in `scratch`); where that does not say, it may.
bool may_call_again(AppAddress pc, DecodedSuperblock& scratch);

// Number of words that the operands of an instruction may need at most.
uint32_t words_bound(const Instruction& instruction);

struct EntryLiveness {
  bool flags_dead;
  AppAddress looked_from, looked_to;      // all application code that this was read off is in between,
  std::vector<uint64_t> pages_ahead;      // on the superblock's own pages (address >> 12) and these
};
// What nobody needs when the superblock is entered. For the flags the search goes on beyond its direct exits when `ahead` is set: in
// application memory as it is now.
EntryLiveness entry_liveness(const DecodedSuperblock& superblock, bool ahead);

}  // namespace simrun::engine

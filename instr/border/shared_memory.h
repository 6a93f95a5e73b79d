// The shared mapping of one target process: a header, thread slots, descriptor tables. Created by the launcher (a sparse memfd),
// mapped by both sides at different addresses; every pointer in it is a target address, the simulator converts by offsets.
//
// Ring protocol (one producer: the application thread; one consumer: the simulator). The ring of a slot is `ring_chunks` chunks of
// `ring_chunk_bytes`. Chunk with sequence number s lies at ring + (s % ring_chunks) * ring_chunk_bytes. `produced` is the number of the
// chunk being filled. For s < produced, fill[s % ring_chunks] words of it are valid and final. For s == produced, the words below
// `written` are valid (it is stored after them). The consumer reads produced, written, produced again, and retries when they differ; a
// `written` outside the chunk means that a switch is going on. Order of a switch: fill, wait until produced + 1 - consumed < ring_chunks,
// written, produced. The consumer that frees a slot sets written, produced and consumed to 0 first.
//
// Emitted code stores words into the thread's stage, one chunk of memory that no other processor touches; the engine copies them into the
// ring, past the caches, when the thread leaves the code cache (docs/stream.md, "Who reads ahead"). With `live_words` there is no stage: the
// code writes into the ring, and `buffer` stands for `written`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "instr/border/descriptors.h"

namespace simrun::border {

inline constexpr uint64_t kMagic = 0x314e5552'4d495300;
inline constexpr uint32_t kVersion = 17;

inline constexpr uint32_t kMaxThreads = 4096;      // slots; a slot is used again when its thread ended and its stream was consumed
inline constexpr uint32_t kMaxRingChunks = 64;

enum class Mode : uint32_t {
  kNull = 0,    // translation only
  kCount = 1,   // instructions retired, and how often each path ran; no references (docs/count-mode.md)
  kTrace = 2,   // the full stream
};

enum class ThreadState : uint32_t {
  kFree = 0,          // the slot may be taken
  kStarting,          // reserved by a parent, no instruction yet
  kRunning,
  kInKernel,          // in a system call that may block: not runnable for ordering until kSyscallExit is in its stream
  kWaitingForSpace,   // its ring is full: runnable, the consumer has data
  kWaitingInEngine,   // safe point, flush
  kDead,              // the stream is complete; the consumer frees the slot when it has read it
  kInShortCall,       // in a call that mostly comes back soon (vfork, a file): waited for, but not for long
};

// Engine statistics, process-wide; plain counters, relaxed.
struct EngineStatistics {
  std::atomic<uint64_t> superblocks, translated_instructions, code_bytes;
  std::atomic<uint64_t> links;
  std::atomic<uint64_t> dispatches_new, dispatches_link, dispatches_indirect, dispatches_syscall, dispatches_check, dispatches_other;
  std::atomic<uint64_t> signals, faults, flushes, translation_ticks;  // of the time stamp counter: a clock would be a system call
  std::atomic<uint64_t> indirect_targets;                             // now, that look-ups come to
  std::atomic<uint64_t> protected_pages, pages_given_back;            // of code that could change (docs/self-modifying-code.md)
  std::atomic<uint64_t> renewals, forgotten_paths;                    // times that the tables of descriptors began anew; paths of before
};

// ProcessHeader::consumer_sleeps. A nap is short, and there so that a program that makes many short system calls need not wake the consumer at
// each.
inline constexpr uint32_t kConsumerRuns = 0, kConsumerSleeps = 1, kConsumerNaps = 2;

struct ThreadSlotRing {
  alignas(64) std::atomic<uint64_t> produced;       // written by the producer
  std::atomic<uint64_t> written;                    // up to here (target address) the consumer may read; with `live_words` see ThreadSlot::buffer
  std::atomic<uint32_t> state;                      // ThreadState; written by the producer (kFree by the consumer)
  std::atomic<uint32_t> tid;                        // kernel thread id
  std::atomic<uint32_t> generation;                 // counts the threads that used this slot
  std::atomic<uint32_t> producer_sleeps;            // futex: 1 while the producer waits for space
  std::atomic<uint32_t> fill[kMaxRingChunks];       // words
  alignas(64) std::atomic<uint64_t> consumed;       // chunks given back; written by the consumer
};

// Of a thread's last calls on what threads hand over to each other by (a pipe, a connection, ...), docs/order.md: one that lets others go on, before
// it is made; one that may have waited for such a call, when it is back; one that does both, when it is back.
struct HandOver {
  std::atomic<uint64_t> object;                     // what the call is made on, and flags
  std::atomic<uint64_t> time;                       // CLOCK_MONOTONIC, nanoseconds
  std::atomic<uint64_t> place;                      // of the stream behind its kSyscallEnter, in bytes with every chunk counted as full
  std::atomic<uint64_t> units;                      // bytes, messages, ... given or taken, first in first out; kUncounted: it is not so
  std::atomic<uint64_t> began;                      // kTook: when the call was made
  static constexpr uint64_t kTook = uint64_t{1} << 63, kWaited = uint64_t{1} << 62;   // kWaited: and gave up its processor meanwhile
  static constexpr uint64_t kGaveLess = uint64_t{1} << 61;   // of what the thread gave there at that time `units` were not taken up
  static constexpr uint64_t kHas = kTook | kGaveLess;        // gives: `units` are all that is there now
  static constexpr uint64_t kNoToken = uint64_t{1} << 60;    // part of the object's name: who takes and gives there does not give back what it took
  static constexpr uint64_t kUncounted = ~uint64_t{0};
};
inline constexpr uint32_t kHandOvers = 4096;        // kept of each thread: number n at n modulo this

// Functions whose calls the simulator wants to know (docs/stream.md, "Watched calls"): written by the simulator, append-only. An entry is in
// force for code that is translated after `count` covers it.
inline constexpr uint32_t kMaxWatchedEntries = 1024;
struct WatchedEntries {
  std::atomic<uint32_t> count;
  uint64_t pc[kMaxWatchedEntries];     // first instructions
};

struct AddressRange {
  uint64_t base, bytes;                // target addresses
};

inline constexpr uint32_t kMaxBlanketGaps = 4;

// Where the code of the superblock at `pc` lies in the code cache, as offsets from ProcessHeader::code_base: its own and, apart, its
// stubs. Offsets are used again after a flush: later entries replace earlier ones.
struct CodeMapEntry {
  uint64_t pc;
  uint32_t hot, hot_bytes, cold, cold_bytes;
};
static_assert(sizeof(CodeMapEntry) == 24);
inline constexpr uint32_t kCodeMapEntries = 1u << 21;   // later superblocks have no name

// A line of the engine's log (docs/diagnosis.md): number `number` - 1 of the process; complete when `number` is set, and its place
// (number - 1) % kLogEntries. The simulator may come too late for some.
struct LogEntry {
  std::atomic<uint64_t> number;
  uint32_t tid;
  char text[116];                      // zero-terminated
};
static_assert(sizeof(LogEntry) == 128);
inline constexpr uint32_t kLogEntries = 1u << 16;

// Count mode (docs/count-mode.md). When the thread with this slot has retired exactly `at` instructions the whole process goes on in
// `mode`. Entries of one thread in increasing order of `at`.
struct ModeSwitch {
  uint64_t at;
  uint32_t slot;
  Mode mode;
};
static_assert(sizeof(ModeSwitch) == 16);
inline constexpr uint32_t kMaxModeSwitches = 4096;

// How processes and images that the program makes come into the simulation (docs/processes.md). The requester claims an entry of its
// process's header (a child of fork: of its parent's), fills it, posts it, wakes the consumer, and sleeps on `state` until it is
// answered; then it frees the entry.
enum class FollowKind : uint32_t {
  kForked = 1,   // a child with memory of its own: `descriptor` is to become its shared mapping
  kVforked,      // a child that borrows its parent's memory and goes on natively until it executes a program
  kExec,         // a thread that is about to execute a program
  kExecFailed,   // and was told by the kernel that it cannot
  kTraced,       // about to make a process (`token`: its pid or a thread's, perhaps its own) one that is traced: it is to leave the engine
};
enum class FollowState : uint32_t { kFree = 0, kClaimed, kPosted, kGranted, kRefused };

struct FollowRequest {
  std::atomic<uint32_t> state;         // FollowState; a futex
  FollowKind kind;
  uint32_t pid, tid;                   // of the requester, in its own namespace
  uint32_t descriptor;                 // kForked: of a memory file, in the requester's table; kTraced: the token of that child of its own, or 0
  uint32_t spare;
  uint64_t token;                      // kForked, kVforked: as in the parent's kProcessFork; kTraced: whom
};
inline constexpr uint32_t kFollowRequests = 32;

// A thread of a running process that simrun attached to, as it was stopped (docs/attach.md). In the order of PTRACE_GETREGS no more:
// `gpr` is by hardware number.
struct AttachedThread {
  uint64_t tid;
  uint64_t gpr[16], pc, flags, fs_base, gs_base;
  uint64_t call_to_restart;            // what gpr[rax] == restart_syscall goes on with; 0: none
  uint64_t signal_mask;
  uint64_t alternate_stack[3];         // stack_t: address, flags, bytes
  uint64_t context;                    // written by the engine: what the thread is to find in r12 at ProcessHeader::thread_start
  alignas(64) uint8_t vectors[12 * 1024];   // XSAVE image in standard format (PTRACE_GETREGSET, NT_X86_XSTATE)
  uint64_t interrupted;                // the kernel's error (include/linux/errno.h) of the call before which it stands, to be made again; 0: none
};

// Detaching: what the simulator wants of the engine, and how far that is (docs/attach.md).
enum class Leaving : uint32_t {
  kNo = 0,
  kPark,      // simulator: every thread that comes to the dispatcher waits there
  kGo,        // simulator: all are there; leave
  kRestore,   // engine: one thread gives the kernel the application's signal actions back
  kGone,      // engine: done; threads go on natively. The `app_mappings` ranges are the engine's now
};

// What the launcher tells the engine and what the engine tells the launcher.
// The last signals of a number that came to the process.
struct SignalArrivals {
  static constexpr int32_t kUnknownSender = -1;
  static constexpr uint32_t kKept = 8;
  struct One {
    std::atomic<int32_t> sender;       // as the process sees it; 0: the kernel
    std::atomic<int64_t> time;         // CLOCK_MONOTONIC, nanoseconds
  };
  One last[kKept];                     // number n at n modulo kKept
  std::atomic<uint32_t> all;           // so far
};
inline constexpr uint32_t kSignalArrivals = 65;   // by number, of those that simrun passes on

struct ProcessHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;               // sizeof(ProcessHeader): both sides must agree

  // Set-up, written by the launcher before the engine starts.
  uint64_t mapping_bytes;              // of the whole shared mapping
  uint64_t target_base;                // where the target has it mapped
  Mode mode;
  uint32_t ring_chunk_bytes;           // power of two
  uint32_t ring_chunks;                // at most kMaxRingChunks
  uint32_t drops_streams;              // 1: nobody reads the rings: a thread writes its first chunk again and again
  uint32_t max_superblock_instructions;  // 1: the slow verify mode
  uint32_t link_superblocks;           // 0: every exit goes through the dispatcher
  uint32_t elide_words;                // 0: every operand has words of its own (for comparison)
  uint32_t unroll_loops;               // 0: no superblock goes through a loop more than once (as in trace mode)
  uint32_t base_instructions;          // 0: both segment bases are the engine's, for the kernel has not rdfsbase and its kin for programs (FSGSBASE)
  uint32_t live_words;                 // 1: words are written into the ring, and while a thread runs its `buffer` is what it was at the beginning of a superblock
  uint32_t force_safe_points;          // n > 0: take the slow path of every n-th check on average
  uint32_t protect_code_after;         // n > 0: code that could change is protected against it when a thread has compared such code n times; 0: never
  uint32_t watch_calls;                // 1: kRegisters operands at watched entries and returns, kMappingChange events; 2: these events only; 3: nor does
                                       // a thread wait for the simulator then
  uint64_t code_cache_bytes;
  uint64_t count_interval;             // count mode: each thread reports at every multiple of so many retired instructions; 0: never
  uint64_t count_done;                 // so many of the first interval had been executed by the image before, of a process with one thread
  uint64_t count_interval_threads;     // the same as soon as there has been a second thread or process; 0: as before
  uint32_t count_paths;                // count mode: 1: how often each path ran is part of that report
  uint32_t mode_switches;              // entries of the table at mode_switches_offset
  // Of a process that was attached to: its threads, the first of which is to become the engine's main, at this offset; and what its C library
  // told the kernel for that thread.
  uint64_t attached_offset;
  uint32_t attached_threads;           // 0: launched
  uint64_t app_robust_list, app_robust_list_bytes, app_tid_address;
  uint32_t follow_children;            // 0: children, and programs executed, go on natively
  uint32_t has_company;                // 1: of other processes from its start on
  int32_t simulator_pid;               // of who empties the rings; who takes over from one that was killed writes its own; 0: nobody any more
  uint64_t app_pc, app_sp;             // the application's first instruction (its dynamic loader, if it has one) and stack pointer
  uint64_t app_flags;                  // rflags at start
  uint32_t added_personality;          // bits of personality(2) that the launcher set and the application should not see; 0 when it has set them itself

  // Inaccessible mappings that keep the engine out of the application's mmap area while it is loaded; the engine unmaps them before the
  // application's first instruction. 0 bytes: none. The gaps are smaller holes above the blanket, usually none.
  uint64_t blanket_base, blanket_bytes;
  AddressRange blanket_gaps[kMaxBlanketGaps];
  // What the application had mapped before anything of the engine came: `app_mappings` ranges, ascending, in the memory of the upper half of
  // the rings, which nobody uses before the application's first instruction.
  uint64_t app_mappings_offset;
  uint32_t app_mappings;
  uint64_t engine_stack_base, engine_stack_bytes;   // the stack that the engine's main runs on
  // Limits of the application, without room for the engine: {soft, hard} as getrlimit is to report them; kept up to date by the engine. And
  // what the kernel was told for the last child that went on natively, or for the process when it left, in which the engine's memory still is.
  uint64_t app_limit_address_space[2], app_limit_data[2];
  uint64_t native_limit_address_space[2], native_limit_data[2];

  // Layout, written by the launcher: offsets from the start of the mapping, capacities in entries.
  uint64_t slots_offset, slot_bytes;   // slot i: ThreadContext of the engine first, at a page boundary (engine_context.h)
  uint64_t stages_offset;              // stage i at stages_offset + i * ring_chunk_bytes
  uint64_t hand_overs_offset;          // kHandOvers of slot i at hand_overs_offset + i * kHandOvers * sizeof(HandOver)
  uint64_t rings_offset;               // ring i at rings_offset + i * ring_chunk_bytes * ring_chunks
  uint64_t instructions_offset, operands_offset, superblocks_offset, paths_offset;
  uint32_t instruction_capacity, operand_capacity, superblock_capacity, path_capacity;
  uint64_t code_offset;                // bytes of the translated instructions (SuperblockDescriptor::first_code_byte)
  uint32_t code_capacity;              // bytes
  uint64_t mode_switches_offset;       // kMaxModeSwitches entries
  uint64_t log_offset;                 // kLogEntries LogEntry; 0: no log is wanted
  uint64_t code_map_offset;            // kCodeMapEntries CodeMapEntry; 0: not wanted

  // Progress, written by the engine. A path id may appear in a stream only after `paths` exceeds it (release/acquire).
  alignas(64) std::atomic<uint32_t> engine_state;   // 0 not started, 1 running, 2 exec done or process detached, 3 failed
  std::atomic<uint32_t> instructions, operands, superblocks, paths, code_bytes;
  std::atomic<uint32_t> slots_used;                 // slots [0, slots_used) were ever taken
  EngineStatistics statistics;
  std::atomic<uint64_t> dropped_words;              // drops_streams: of chunks written over, and of threads that have ended
  char failure[1024];                               // engine_state 3: one line, zero-terminated
  char report[16 * 1024];                           // of a fault in the engine itself: lines, zero-terminated
  std::atomic<uint64_t> log_lines;                  // begun so far
  std::atomic<uint32_t> code_mapped;                // entries of the code map that are complete
  uint64_t code_base;                               // of the code cache as it is executed

  // Written by the simulator; used only with watch_calls.
  WatchedEntries watched;
  std::atomic<uint32_t> mappings_read;              // futex: the last ticket of a kMappingChange that the simulator has dealt with

  // Tables of descriptors that begin anew when they are full (docs/self-modifying-code.md).
  std::atomic<uint32_t> forgets_paths;              // written by the simulator; 1: it does as kForgetPaths says
  std::atomic<uint32_t> paths_forgotten;            // futex: the last ticket of a kForgetPaths that it has dealt with

  std::atomic<uint64_t> last_token;                 // of forks
  FollowRequest requests[kFollowRequests];
  std::atomic<uint32_t> requests_posted;            // raised after each posting; the simulator sets it back before it looks

  // Detaching. A thread that simrun finds stopped in an interrupted system call at `gate_end` is sent to `gate_abort`: as if it had not
  // made the call.
  std::atomic<uint32_t> leaving;       // Leaving; a futex
  std::atomic<uint32_t> parked;        // threads that wait for kGo
  uint64_t thread_start, gate_end, gate_abort;   // written by the engine before engine_state 1
  SignalArrivals arrivals[kSignalArrivals];

  // The consumer sleeps on this futex (kConsumerSleeps). Producers wake it at chunk switches and state changes when it sleeps; when they wait
  // for it themselves, also when it naps.
  alignas(64) std::atomic<uint32_t> consumer_sleeps;
};

// At the start of each slot. The rest of the slot is the engine's own.
struct ThreadSlot {
  // First, because emitted code addresses it with an 8-bit displacement from the GS base.
  // Next free word (target address) of the stage or the ring, always behind whole paths and events. Emitted code keeps it in a register and
  // stores it when the thread leaves the code cache, and with `live_words` at the beginning of each superblock.
  std::atomic<uint64_t> buffer;
  std::atomic<uint64_t> limit;         // a superblock starts writing only below this; 0 = go to a safe point
  // The bits of a target that are its place in the table of indirect targets, where look-ups take it from here; 0 = go to a safe point: then
  // they all come to place 0. Whoever stores 0 into `limit` does so here.
  std::atomic<uint64_t> indirect_mask;
  // Count mode: instructions retired. Emitted code keeps it in a register and stores it when the thread leaves the code cache (at
  // the latest after some million instructions): exact for the thread itself in the engine, a lower bound for others.
  std::atomic<uint64_t> retired;
  uint64_t ring_base;                  // target address of this slot's ring
  ThreadSlotRing ring;
  std::atomic<uint32_t> in_cache;      // 1 from the last look-up before entering the code cache until the exit was read
  std::atomic<uint32_t> published;     // 1: its process is about to end, and `written` and `retired` were up to date a moment ago
  std::atomic<uint64_t> hand_overs;    // so far; the last ones are in the table at ProcessHeader::hand_overs_offset
  std::atomic<uint64_t> waits_on;      // the object of the call that it is in, by which it may wait for what others give there; 0: none
  static constexpr uint64_t kGives = 1;   // instead of an object: it gives, and does not wait but where there is no room
};
static_assert(offsetof(ThreadSlot, buffer) == 0 && offsetof(ThreadSlot, limit) == 8);

// Layout with every region at a page boundary. All sizes in bytes.
inline constexpr uint64_t kSlotBytes = 16 * 1024;   // ThreadSlot and the engine's context behind it (static_assert there)
// Each slot's window: the context, then a view of the shared indirect-target table (mapped by the engine).
inline constexpr uint64_t kIndirectTableBytes = 65536 * 8;
inline constexpr uint64_t kSlotStride = kSlotBytes + kIndirectTableBytes;
// With `count_paths` a window is larger by the thread's 32-bit counters, one for each path id. The engine's own: it reports them.
inline constexpr uint32_t kMaxCountedPaths = 4u << 20;
inline constexpr uint64_t kCounterBytes = uint64_t{kMaxCountedPaths} * 4;

// Words that one superblock may store at most (with its block words): the slack behind `limit`.
inline constexpr uint32_t kMaxSuperblockWords = 384;

}  // namespace simrun::border

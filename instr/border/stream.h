// The words of a thread's stream. A path (descriptors.h): its id as a 64-bit word below 2^31, then its address words. An event: id
// in the low 32 bits (below kFirstPath), number of payload words in the high 32 bits, then the payload. A path or an event
// never straddles two chunks of the ring.
#pragma once

#include <cstdint>

namespace simrun::border {

enum class Event : uint32_t {
  kThreadStart = 1,    // tid, slot of the parent thread (or ~0), FS base
  kThreadEnd,          // (none): the last word of a stream
  kThreadCreate,       // slot of the child: emitted by the parent before its clone; the child's stream starts after this point
  kThreadCreateFailed, // slot of the child
  kSyscallEnter,       // number, 1 if it may block for long; of futex its operation, address and value, too
  kSyscallExit,        // number, result (-ERESTARTSYS, which is -512: not done, a signal comes first and the call behind it); the child, too, whose
                       // end a wait4 or waitid told, or a signal that interrupted the call
  kFsBase,             // new FS base
  kGsBase,             // new GS base of the application
  kSignal,             // signal number, the address that it interrupted: of the instruction that would have come next. A handler starts
  kCut,                // path id, instructions retired, iterations done of a string instruction that was next (negative:
                       // downwards), then the words stored so far: a superblock that a fault cut short, from its entry
  kMarker,             // nobody writes it: markers are instructions of the path (traces/record.h)
  kExec,               // 1 if the new image is to be followed: the process image is about to be replaced; its streams end unless
                       // kExecFailed follows
  kExecFailed,         // as in kExec
  kProcessFork,        // pid of a child process, token: 0, or that of its FollowRequest
  kMappingChange,      // watch_calls only. System call number (0: the program is about to start), its result, its six arguments, ticket,
                       // device and number of the file (mapped_file.h): of mmap, munmap, mremap, brk, shmat (fourth argument: the
                       // size), shmdt that succeeded. With a ticket != 0 (a file was mapped executable, not with
                       // watch_calls 3) the thread waits until the simulator has raised ProcessHeader::mappings_read to it
  // Count mode (docs/count-mode.md):
  kRetired,            // instructions retired by this thread since its start, rep instructions once: before any other event that
                       // finds the number changed
  kPathCounts,         // for each path whose last block (behind the path before it, of the same superblock) ran since the last report:
                       // path id, how often that block began << 32. Ascending; as many events as are needed, each with all paths of
                       // a superblock or none. What began one and not the next left in between (channel/path_counts.h)
  kPathCut,            // path id, instructions: the first so many of a path ran once, then came a fault
  kInterval,           // instructions retired: with `count_done` a multiple of `count_interval`, all path counts up to here came before; the address of
                       // the next instruction. The first of a process says 0; the last one of a thread, before kThreadEnd or kExec, is
                       // where it ended, and has no address, nor have those between multiples (count_interval_threads). Then bytes that its repeated string instructions have gone over (count_paths)
  kModeSwitch,         // border::Mode from here on, instructions retired
  // Trace mode:
  kForgetPaths,        // ticket: the world is stopped until the simulator, having read what all threads of the process have written, has forgotten
                       // what path ids mean and raised ProcessHeader::paths_forgotten to the ticket
};

constexpr uint64_t event_word(Event e, uint32_t payload_words) {
  return static_cast<uint64_t>(e) | static_cast<uint64_t>(payload_words) << 32;
}

}  // namespace simrun::border

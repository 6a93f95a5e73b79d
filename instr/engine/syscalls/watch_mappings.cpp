#include "instr/engine/syscalls/watch_mappings.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include <atomic>

#include "instr/border/mapped_file.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/instrument/ring_writer.h"

namespace simrun::engine {
namespace {

// Tickets are taken after the change. So when the simulator has seen a later ticket, it has looked at the address space after this change
// as well.
std::atomic<uint32_t> g_last_ticket{0};

void wait_for_simulator(ThreadContext* c, uint32_t ticket) {
  std::atomic<uint32_t>& read = g_process.header->mappings_read;
  set_thread_state(c, border::ThreadState::kInShortCall);   // it is the reader of these words who lets it go
  call_consumer();
  for (;;) {
    const uint32_t seen = read.load(std::memory_order_acquire);
    if (seen >= ticket || simulator_is_gone()) break;
    const timespec timeout{0, 100'000'000};   // to notice a dead simulator
    raw_syscall(SYS_futex, word(&read), FUTEX_WAIT, seen, word(&timeout));
  }
  set_thread_state(c, border::ThreadState::kRunning);
}

// The file, or nothing, that an mmap mapped; the number of a System V segment.
struct MappedObject {
  uint64_t device = border::kNoDevice, number = 0;
};

void report(ThreadContext* c, uint64_t number, const uint64_t* a, bool maps_code, const MappedObject& object = {}) {
  const bool wait = maps_code && g_process.header->watch_calls != 3;
  const uint32_t ticket = wait ? g_last_ticket.fetch_add(1) + 1 : 0;
  append_event(c, border::Event::kMappingChange,
               {number, c->app.gpr[kRax], a[0], a[1], a[2], a[3], a[4], a[5], ticket, object.device, object.number});
  if (wait) wait_for_simulator(c, ticket);
}

MappedObject object_of(uint64_t descriptor) {
  struct stat s{};
  if (raw_syscall(SYS_fstat, descriptor, word(&s)) != 0) return {};   // closed by another thread since
  return {s.st_dev, s.st_ino};
}

void report_mmap(ThreadContext* c, const uint64_t* a) {
  const bool of_file = (a[3] & MAP_ANONYMOUS) == 0;
  report(c, SYS_mmap, a, (a[2] & PROT_EXEC) != 0 && of_file, of_file ? object_of(a[4]) : MappedObject{});
}

// With the size of the segment in the place of the fourth argument.
void report_segment(ThreadContext* c, const uint64_t* a) {
  shmid_ds segment{};
  raw_syscall(SYS_shmctl, a[0], IPC_STAT, word(&segment));
  const uint64_t with_size[6] = {a[0], a[1], a[2], segment.shm_segsz, 0, 0};
  report(c, SYS_shmat, with_size, false, {border::kSegmentDevice, a[0]});
}

}  // namespace

void report_mapping_change(ThreadContext* c, uint64_t number, const uint64_t* a) {
  switch (number) {
    case SYS_mmap: return report_mmap(c, a);
    case SYS_shmat: return report_segment(c, a);
    case SYS_shmdt:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_brk: return report(c, number, a, false);
    default: return;
  }
}

void report_first_mappings(ThreadContext* c) {
  if (g_process.header->watch_calls == 0 || g_process.header->watch_calls == 3) return;
  const uint64_t none[6] = {};
  report(c, 0, none, true);
}

}  // namespace simrun::engine

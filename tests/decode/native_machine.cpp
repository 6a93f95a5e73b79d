#include "tests/decode/native_machine.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kCode = 0x10000000, kCodeBytes = 16 * 4096;
constexpr int kSlotBytes = 15;

// In the code mapping, behind the code, so that the emitted code reaches it relative to rip.
struct Exchange {
  MachineState before, after;
  alignas(64) uint8_t fxsave[512];
  alignas(64) uint8_t fxrstor[512];
  uint64_t host_rsp;
  uint32_t mxcsr;
};
constexpr uint64_t kExchange = kCode + 8 * 4096;
Exchange& exchange() { return *reinterpret_cast<Exchange*>(kExchange); }

sigjmp_buf escape;
volatile int caught;
volatile uint64_t caught_address;

void on_signal(int signal, siginfo_t* info, void*) {
  caught = signal;
  caught_address = info->si_code > 0 && info->si_code != SI_KERNEL ? reinterpret_cast<uint64_t>(info->si_addr) : 0;
  siglongjmp(escape, 1);
}

class Emitter {
 public:
  explicit Emitter(uint8_t* at) : at_(at) {}
  uint8_t* at() const { return at_; }
  void bytes(std::initializer_list<int> list) {
    for (int b : list) *at_++ = static_cast<uint8_t>(b);
  }
  // A 4-byte displacement to `target` that ends the instruction.
  void relative(const void* target) {
    const int32_t d = static_cast<int32_t>(static_cast<const uint8_t*>(target) - (at_ + 4));
    std::memcpy(at_, &d, 4);
    at_ += 4;
  }
  void gpr(int opcode, int r, const void* m) { bytes({0x48 | (r >> 3) << 2, opcode, 5 | (r & 7) << 3}), relative(m); }
  // vmovdqu64: 6f load, 7f store
  void zmm(int opcode, int r, const void* m) {
    bytes({0x62, 0x61 | (r & 8 ? 0 : 0x80) | (r & 16 ? 0 : 0x10), 0xfe, 0x48, opcode, 5 | (r & 7) << 3}), relative(m);
  }
  void mask(int opcode, int r, const void* m) { bytes({0xc4, 0xe1, 0xf8, opcode, 5 | r << 3}), relative(m); }

 private:
  uint8_t* at_;
};

void* map_at(uint64_t address, uint64_t bytes, int protection) {
  void* p = mmap(reinterpret_cast<void*>(address), bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                 -1, 0);
  CHECK(p == reinterpret_cast<void*>(address));
  return p;
}

// An fxrstor image: all exceptions masked, six x87 registers with numbers between 1 and 2, two empty.
void fill_x87(uint8_t* image) {
  std::memset(image, 0, 512);
  const uint16_t control = 0x37f;
  const uint32_t mxcsr = 0x1f80;
  std::memcpy(image, &control, 2);
  image[4] = 0x3f;
  std::memcpy(image + 24, &mxcsr, 4);
  for (uint64_t r = 0; r < 8; ++r) {
    const uint64_t significand = 0x8000000000000000 | (0x123456789abcdef * (r + 1) >> 1);
    const uint16_t exponent = 0x3fff;
    std::memcpy(image + 32 + 16 * r, &significand, 8);
    std::memcpy(image + 40 + 16 * r, &exponent, 2);
  }
}

void catch_faults() {
  static uint8_t stack[64 * 1024];
  const stack_t alternate{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  CHECK(sigaltstack(&alternate, nullptr) == 0);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) CHECK(sigaction(s, &action, nullptr) == 0);
}

}  // namespace

NativeMachine::NativeMachine()
    : has_vectors_(__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
  code_ = static_cast<uint8_t*>(map_at(kCode, kCodeBytes, PROT_READ | PROT_WRITE | PROT_EXEC));
  map_at(kReserved, kReservedBytes, PROT_NONE);
  CHECK(mprotect(reinterpret_cast<void*>(kWritable), kWritableBytes, PROT_READ | PROT_WRITE) == 0);
  CHECK(mprotect(reinterpret_cast<void*>(kReadOnly), kReadOnlyBytes, PROT_READ) == 0);
  catch_faults();
  build();
}

NativeMachine::~NativeMachine() {
  munmap(code_, kCodeBytes);
  munmap(reinterpret_cast<void*>(kReserved), kReservedBytes);
  for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) signal(s, SIG_DFL);
}

uint64_t NativeMachine::fs_base() const {
  uint64_t base;  // the thread control block starts with its own address (x86-64 ABI, TLS variant II)
  asm("mov %%fs:0, %0" : "=r"(base));
  return base;
}

// entry:  save the host's registers; load vectors, flags, registers
// slot:   the instruction, padded with nops
//         store registers, flags, vectors, x87; restore the host's
void NativeMachine::build() {
  Exchange& x = exchange();
  x.mxcsr = 0x1f80;
  fill_x87(x.fxrstor);
  Emitter e(code_);
  entry_ = reinterpret_cast<void (*)()>(code_);
  e.bytes({0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57});  // push rbx rbp r12 r13 r14 r15
  e.gpr(0x89, 4, &x.host_rsp);
  e.bytes({0x48, 0x0f, 0xae, 0x0d}), e.relative(x.fxrstor);  // fxrstor64
  for (int r = 0; r < 32 && has_vectors_; ++r) e.zmm(0x6f, r, &x.before.zmm[static_cast<size_t>(r)]);
  for (int r = 0; r < 8 && has_vectors_; ++r) e.mask(0x90, r, &x.before.k[static_cast<size_t>(r)]);
  e.bytes({0xff, 0x35}), e.relative(&x.before.flags);  // push [flags]
  e.bytes({0x9d});                                     // popfq
  for (int r : {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 4})
    e.gpr(0x8b, r, &x.before.gpr[static_cast<size_t>(r)]);
  slot_ = AppAddress{reinterpret_cast<uint64_t>(e.at())};
  for (int i = 0; i < kSlotBytes; ++i) e.bytes({0x90});
  for (int r = 0; r < 16; ++r) e.gpr(0x89, r, &x.after.gpr[static_cast<size_t>(r)]);
  e.gpr(0x8b, 4, &x.host_rsp);
  e.bytes({0x9c});                                    // pushfq
  e.bytes({0x8f, 0x05}), e.relative(&x.after.flags);  // pop [flags]
  e.bytes({0xfc});                                    // cld
  for (int r = 0; r < 32 && has_vectors_; ++r) e.zmm(0x7f, r, &x.after.zmm[static_cast<size_t>(r)]);
  for (int r = 0; r < 8 && has_vectors_; ++r) e.mask(0x91, r, &x.after.k[static_cast<size_t>(r)]);
  e.bytes({0x48, 0x0f, 0xae, 0x05}), e.relative(x.fxsave);  // fxsave64
  e.bytes({0xdb, 0xe3});                                    // fninit
  e.bytes({0x0f, 0xae, 0x15}), e.relative(&x.mxcsr);        // ldmxcsr
  if (has_vectors_) e.bytes({0xc5, 0xf8, 0x77});            // vzeroupper
  e.bytes({0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3});
  CHECK(reinterpret_cast<uint64_t>(e.at()) <= kExchange);
}

// In a virtual machine an unpckhpd was SIGILL once, in millions of instructions and right after it had run: what is invalid is so twice.
void NativeMachine::run(const uint8_t* code, int length, const MachineState& before, const std::vector<uint8_t>& memory,
                        Outcome& out) {
  run_once(code, length, before, memory, out);
  if (out.signal == SIGILL) run_once(code, length, before, memory, out);
}

void NativeMachine::run_once(const uint8_t* code, int length, const MachineState& before, const std::vector<uint8_t>& memory,
                             Outcome& out) {
  CHECK(length <= kSlotBytes && memory.size() == kWritableBytes);
  Exchange& x = exchange();
  uint8_t* slot = reinterpret_cast<uint8_t*>(raw(slot_));
  std::memset(slot, 0x90, kSlotBytes);
  std::memcpy(slot, code, static_cast<size_t>(length));
  std::memcpy(reinterpret_cast<void*>(kWritable), memory.data(), memory.size());
  x.before = before;
  caught = 0;
  if (sigsetjmp(escape, 0) == 0) {
    entry_();
    asm volatile("" ::: "memory");
  } else {
    asm volatile("fninit; ldmxcsr %0; cld" ::"m"(x.mxcsr));
  }
  out.signal = caught;
  out.fault_address = caught_address;
  out.after = x.after;
  std::memcpy(out.x87.data(), x.fxsave, out.x87.size());
  std::memset(out.x87.data() + 6, 0, 26);  // opcode, instruction and data pointers, mxcsr
  const uint8_t* m = reinterpret_cast<const uint8_t*>(kWritable);
  out.memory.assign(m, m + kWritableBytes);
}

}  // namespace simrun::engine

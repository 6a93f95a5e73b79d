#include "instr/engine/context/fixed_routines.h"

#include <asm/prctl.h>
#include <sys/syscall.h>

#include "instr/engine/context/process.h"
#include "instr/engine/emit/x86_64/assembler.h"
#include "instr/engine/runtime/dispatcher.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/threads/child_process.h"
#include "instr/engine/threads/threads.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {

FixedRoutines g_routines;

namespace {

constexpr uint32_t gpr_slot(uint8_t r) { return static_cast<uint32_t>(offsetof(ThreadContext, app.gpr)) + 8u * r; }
constexpr uint32_t spill_slot(uint8_t r) { return static_cast<uint32_t>(offsetof(ThreadContext, spill)) + 8u * r; }
constexpr uint8_t kCalleeSaved[] = {kRbx, kRbp, kR12, kR13, kR14, kR15};

class FixedEmitter {
 public:
  FixedEmitter(CodeCache& cache, uint64_t mask) : a_(cache.write_pointer(cache.used(CodeCache::kHot)), cache.address(cache.used(CodeCache::kHot))), mask_(mask) {}

  void emit() {
    align();
    leave_and_enter();
    align();
    indirect_miss();
    align();
    gate();
    align();
    gate32();
    align();
    g_routines.clone_instruction = clone(g_routines.clone);
    g_routines.judged_clone_instruction = clone(g_routines.judged_clone);
    align();
    child_starts();
    align();
    exit_thread();
    align();
    copy();
    align();
    signals();
    align();
    g_routines.end = a_.here();
  }
  uint32_t size() const { return a_.size(); }

 private:
  void align() {
    while (a_.here() & 63) a_.byte(0xcc);
  }
  template <typename F>
  void call(F* function) {   // the engine is far away
    a_.mov_imm(kRax, reinterpret_cast<uint64_t>(function));
    a_.byte(0xff);
    a_.byte(0xd0);
  }
  // rdi = context; edx:eax = components; then `opcode` /digit [rdi + vector_state] with REX.W
  void vector_state(uint8_t second_opcode, uint8_t digit) {
    a_.load_gs(kRdi, offsetof(ThreadContext, self));
    a_.mov_imm(kRax, mask_ & 0xffffffff);
    a_.mov_imm(kRdx, mask_ >> 32);
    a_.byte(0x48);
    a_.byte(0x0f);
    a_.byte(second_opcode);
    a_.byte(static_cast<uint8_t>(0x80 | digit << 3 | 7));
    a_.word32(offsetof(ThreadContext, vector_state));
  }

  // rdi, rax, rcx, r11 are lost; rsi: the second argument.
  void arch_prctl(uint32_t operation) {
    a_.mov_imm(kRdi, operation);
    a_.mov_imm(kRax, SYS_arch_prctl);
    a_.syscall();
  }
  // rax, rcx, rdi, rsi, r11 are lost where the kernel does it.
  void set_fs_base(uint8_t from) {
    if (has_base_instructions_) return a_.wrfsbase(from);
    a_.mov(kRsi, from);
    arch_prctl(ARCH_SET_FS);
  }
  void set_gs_base(uint8_t from) {
    if (has_base_instructions_) return a_.wrgsbase(from);
    a_.mov(kRsi, from);
    arch_prctl(ARCH_SET_GS);
  }

  // Without instructions for the bases both are the engine's all the time: nothing is done about them here.
  // leave: app.gpr[*] = registers; rsp = engine_sp; app.flags = rflags; cld; fs base = engine's (the application's was kept when it
  //        last changed, or it changed it by wrfsbase: read it); xsavec; rax = dispatch(context)
  // enter: jump_target = rax; xrstor; fs base = application's; rflags; registers; jmp jump_target
  void leave_and_enter() {
    g_routines.leave = a_.here();
    for (uint8_t r = 0; r < 16; ++r) a_.store_gs(gpr_slot(r), r);
    a_.load_gs(kRsp, offsetof(ThreadContext, engine_sp));
    a_.byte(0x9c);                                   // pushfq
    a_.pop_gs(offsetof(ThreadContext, app.flags));
    a_.push_imm32(2);                                // all flags clear: direction, alignment check, trap
    a_.byte(0x9d);                                   // popfq
    if (has_base_instructions_) {
      a_.rdfsbase(kRax);
      a_.store_gs(offsetof(ThreadContext, app_fs_base), kRax);
      a_.load_gs(kRax, offsetof(ThreadContext, engine_fs_base));
      a_.wrfsbase(kRax);
    }
    vector_state(0xc7, 4);                           // xsavec64
    a_.ldmxcsr_gs(offsetof(ThreadContext, default_mxcsr));
    call(&dispatch);
    g_routines.enter = a_.here();
    a_.store_gs(offsetof(ThreadContext, jump_target), kRax);
    vector_state(0xae, 5);                           // xrstor64
    if (has_base_instructions_) {
      a_.load_gs(kRax, offsetof(ThreadContext, app_fs_base));
      a_.wrfsbase(kRax);
    }
    a_.push_gs(offsetof(ThreadContext, app.flags));
    a_.byte(0x9d);                                   // popfq
    for (uint8_t r = 0; r < 16; ++r)
      if (r != kRsp) a_.load_gs(r, gpr_slot(r));
    a_.load_gs(kRsp, gpr_slot(kRsp));
    a_.jmp_gs(offsetof(ThreadContext, jump_target));
  }

  // counting: retired = handed; tracing: buffer = handed; both: handed = the application's; miss: app.pc = r11; r11, rcx = the application's; exit_id = indirect; leave
  void indirect_miss() {
    const auto of = [](border::Mode mode) -> uint64_t& { return g_routines.indirect_miss_of[static_cast<uint32_t>(mode)]; };
    of(border::Mode::kCount) = a_.here();
    a_.store_gs(offsetof(ThreadContext, retired), kHandedOn);
    uint8_t* on = a_.jmp_forward();
    of(border::Mode::kTrace) = a_.here();
    a_.store_gs(offsetof(ThreadContext, buffer), kHandedOn);
    a_.bind(on);
    a_.load_gs(kHandedOn, spill_slot(kHandedOn));
    g_routines.indirect_miss = of(border::Mode::kNull) = a_.here();
    a_.store_gs(offsetof(ThreadContext, app.pc), kR11);
    a_.load_gs(kR11, spill_slot(kR11));
    a_.load_gs(kRcx, spill_slot(kRcx));
    a_.store_gs_imm32(offsetof(ThreadContext, exit_id), kExitIndirect);
    a_.jmp(g_routines.leave);
  }

  void save_callee_saved() {
    for (uint8_t r : kCalleeSaved) a_.push(r);
  }
  void restore_callee_saved_and_return() {
    for (int k = 5; k >= 0; --k) a_.pop(kCalleeSaved[k]);
    a_.byte(0xc3);
  }

  // registers = app.gpr; begin: if (pending) goto abort; instruction: syscall; app.gpr[rax] = rax; return 1; abort: return 0
  void gate() {
    g_routines.gate = reinterpret_cast<uint64_t (*)(ThreadContext*)>(a_.here());
    save_callee_saved();
    for (uint8_t r : {kRax, kRdi, kRsi, kRdx, kR10, kR8, kR9}) a_.load_gs(r, gpr_slot(r));
    g_routines.gate_begin = a_.here();
    a_.cmp_gs_zero(offsetof(ThreadContext, pending.number));
    uint8_t* abort = a_.jcc_forward(kNotEqual);
    g_routines.gate_instruction = a_.here();
    a_.syscall();
    a_.store_gs(gpr_slot(kRax), kRax);
    a_.mov_imm(kRax, 1);
    uint8_t* out = a_.jmp_forward();
    a_.bind(abort);
    g_routines.gate_abort = a_.here();
    a_.mov_imm(kRax, 0);
    a_.bind(out);
    restore_callee_saved_and_return();
  }

  // The same for int 0x80, whose registers are others; failed: return 2. The kernel clears or keeps r8 to r11: they are not given to it.
  void gate32() {
    g_routines.gate32 = reinterpret_cast<uint64_t (*)(ThreadContext*)>(a_.here());
    save_callee_saved();
    for (uint8_t r : {kRax, kRbx, kRcx, kRdx, kRsi, kRdi, kRbp}) a_.load_gs(r, gpr_slot(r));
    g_routines.gate32_begin = a_.here();
    a_.cmp_gs_zero(offsetof(ThreadContext, pending.number));
    uint8_t* abort = a_.jcc_forward(kNotEqual);
    g_routines.gate32_instruction = a_.here();
    a_.byte(0xcd);
    a_.byte(0x80);
    a_.store_gs(gpr_slot(kRax), kRax);
    a_.mov_imm(kRax, 1);
    uint8_t* out = a_.jmp_forward();
    g_routines.gate32_failed = a_.here();
    a_.mov_imm(kRax, 2);
    uint8_t* out_failed = a_.jmp_forward();
    a_.bind(abort);
    g_routines.gate32_abort = a_.here();
    a_.mov_imm(kRax, 0);
    a_.bind(out);
    a_.bind(out_failed);
    restore_callee_saved_and_return();
  }

  // r12 = value, r13 = child; registers = arguments; syscall; if (rax == 0) jmp r13; return rax
  // Returns where its system call instruction is.
  uint64_t clone(int64_t (*&routine)(const uint64_t*, uint64_t, void*)) {
    routine = reinterpret_cast<int64_t (*)(const uint64_t*, uint64_t, void*)>(a_.here());
    save_callee_saved();
    a_.mov(kR14, kRdi);
    a_.mov(kR13, kRsi);
    a_.mov(kR12, kRdx);
    int32_t at = 0;
    for (uint8_t r : {kRax, kRdi, kRsi, kRdx, kR10, kR8, kR9}) {
      a_.load(r, kR14, at);
      at += 8;
    }
    const uint64_t instruction = a_.here();
    a_.syscall();
    a_.cmp_imm32(kRax, 0);
    uint8_t* parent = a_.jcc_forward(kNotEqual);
    a_.byte(0x41);                                   // jmp r13
    a_.byte(0xff);
    a_.byte(0xe5);
    a_.bind(parent);
    restore_callee_saved_and_return();
    return instruction;
  }

  void child_starts() {
    g_routines.thread_start = a_.here();             // gs base = r12; fs base, stack = the adopted identity's; start_thread(r12); rax = dispatch; enter
    set_gs_base(kR12);
    a_.load_gs(kRax, offsetof(ThreadContext, engine_fs_base));
    set_fs_base(kRax);
    a_.load_gs(kRsp, offsetof(ThreadContext, engine_sp));
    a_.mov(kRdi, kR12);
    call(&start_thread);
    a_.load_gs(kRdi, offsetof(ThreadContext, self));
    call(&dispatch);
    a_.jmp(g_routines.enter);
    align();
    g_routines.process_start = a_.here();            // fs base of the parent's thread, for CLONE_SETTLS has set it; start_child_process(r12)
    a_.load_gs(kRax, offsetof(ThreadContext, engine_fs_base));
    set_fs_base(kRax);
    a_.mov(kRdi, kR12);
    call(&start_child_process);
    a_.byte(0x0f);
    a_.byte(0x0b);
  }

  // rcx = rdx; rep movsb; return 1; failed: return 0
  void copy() {
    g_routines.copy = reinterpret_cast<uint64_t (*)(void*, const void*, uint64_t)>(a_.here());
    a_.mov(kRcx, kRdx);
    g_routines.copy_instruction = a_.here();
    a_.byte(0xf3);
    a_.byte(0xa4);
    a_.mov_imm(kRax, 1);
    a_.byte(0xc3);
    g_routines.copy_failed = a_.here();
    a_.mov_imm(kRax, 0);
    a_.byte(0xc3);
  }

  // (edi status, esi state, rdx &released, ecx call): gs:state = esi; [rdx] = 1; call(edi)
  void exit_thread() {
    g_routines.exit_thread = reinterpret_cast<void (*)(uint64_t, uint32_t, uint32_t*, uint64_t)>(a_.here());
    a_.mov(kRax, kRcx);
    static constexpr uint8_t kStoreEsi[] = {0x65, 0x89, 0x34, 0x25};      // mov gs:[disp32], esi
    a_.bytes(kStoreEsi, 4);
    a_.word32(offsetof(ThreadContext, ring.state));
    static constexpr uint8_t kStoreOne[] = {0xc7, 0x02, 1, 0, 0, 0};      // mov dword [rdx], 1
    a_.bytes(kStoreOne, 6);
    a_.syscall();
    a_.byte(0x0f);
    a_.byte(0x0b);
  }

  // (edi, rsi, rdx as the kernel gives them, on the engine's signal stack): swap the segment bases around handle_signal. The GS base may be
  // the application's own for one instruction (copy_with_gs_base): the context is found by the stack. It stays ours if the thread was sent elsewhere.
  void signals() {
    g_routines.signal_entry = a_.here();
    a_.push(kRbx);
    a_.push(kRbp);
    a_.push(kR12);
    // The kernel leaves the application's alignment check on. The other flags stay: rt_sigreturn restores neither ID nor NT.
    static constexpr uint8_t kClearAlignmentCheck[] = {0x9c, 0x81, 0x24, 0x24, 0xff, 0xff, 0xfb, 0xff, 0x9d};
    a_.bytes(kClearAlignmentCheck, sizeof kClearAlignmentCheck);   // pushfq; and dword [rsp], ~AC; popfq
    if (has_base_instructions_)
      handle_with_own_bases();
    else
      call(&handle_signal);
    a_.pop(kR12);
    a_.pop(kRbp);
    a_.pop(kRbx);
    a_.byte(0xc3);
    align();
    g_routines.signal_restorer = a_.here();
    a_.mov_imm(kRax, SYS_rt_sigreturn);
    a_.syscall();
  }

  void handle_with_own_bases() {
    a_.rdgsbase(kRbp);
    a_.mov(kRax, kRsp);
    static constexpr uint8_t kOrEax[] = {0x48, 0x0d};
    a_.bytes(kOrEax, 2);
    a_.word32(kSignalStackBytes - 1);                // or rax, imm32
    a_.load(kRax, kRax, -7);                         // the context, at the top of the signal stack
    a_.wrgsbase(kRax);
    a_.rdfsbase(kRbx);
    a_.load_gs(kRax, offsetof(ThreadContext, engine_fs_base));
    a_.wrfsbase(kRax);
    call(&handle_signal);
    a_.wrfsbase(kRbx);
    a_.cmp_imm32(kRax, 0);
    uint8_t* ours = a_.jcc_forward(kNotEqual);
    a_.wrgsbase(kRbp);
    a_.bind(ours);
  }

  Assembler a_;
  uint64_t mask_;
  bool has_base_instructions_ = g_process.header->base_instructions != 0;
};

}  // namespace

void emit_fixed_routines(CodeCache& cache, uint64_t xsave_mask) {
  FixedEmitter emitter(cache, xsave_mask);
  emitter.emit();
  cache.commit(CodeCache::kHot, emitter.size());
  cache.keep_below();
}

void enter_code_cache(ThreadContext* context, uint64_t code) {
  asm volatile("mov %0, %%rsp\n jmp *%1" : : "r"(context->engine_sp), "r"(g_routines.enter), "a"(code) : "memory");
  __builtin_unreachable();
}

}  // namespace simrun::engine

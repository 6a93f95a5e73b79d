// A small assembler for the few instruction forms that the engine emits. Writes through the writable alias of the code cache and
// computes displacements for the executable alias. Never checks space: the caller reserves it (code_cache.h).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

// Condition codes of jcc/setcc, as in the opcode.
enum Condition : uint8_t { kOverflow = 0, kBelow = 2, kAboveEqual = 3, kEqual = 4, kNotEqual = 5, kBelowEqual = 6, kAbove = 7 };

class Assembler {
 public:
  // `write` and `execute`: the two addresses of the same byte.
  Assembler(uint8_t* write, uint64_t execute) : start_(write), p_(write), execute_(execute) {}

  uint32_t size() const { return static_cast<uint32_t>(p_ - start_); }
  uint64_t here() const { return execute_ + size(); }
  uint8_t* write_pointer() const { return p_; }

  void byte(uint8_t b) { *p_++ = b; }
  void bytes(const void* data, size_t n) {
    std::memcpy(p_, data, n);
    p_ += n;
  }
  void word32(uint32_t v) { bytes(&v, 4); }
  void word64(uint64_t v) { bytes(&v, 8); }

  // gs:[offset]
  void store_gs(uint32_t offset, uint8_t r) { gs_form(0x89, r, offset); }
  void load_gs(uint8_t r, uint32_t offset) { gs_form(0x8b, r, offset); }
  void cmp_gs(uint8_t r, uint32_t offset) { gs_form(0x3b, r, offset); }
  void store_gs32(uint32_t offset, uint8_t r) { gs_form32(0x89, r, offset); }
  void load_gs32(uint8_t r, uint32_t offset) { gs_form32(0x8b, r, offset); }
  void inc_gs32(uint32_t offset) { gs_form32(0xff, 0, offset); }   // inc dword gs:[offset]
  void dec_gs32(uint32_t offset) {                          // sub dword gs:[offset], 1: with a borrow from 0
    static constexpr uint8_t k[] = {0x65, 0x83, 0x2c, 0x25};
    bytes(k, 4);
    word32(offset);
    byte(1);
  }
  void cmp_gs_zero(uint32_t offset) {                       // cmp qword gs:[offset], 0
    static constexpr uint8_t k[] = {0x65, 0x48, 0x83, 0x3c, 0x25};
    bytes(k, 5);
    word32(offset);
    byte(0);
  }
  void store_gs_imm32(uint32_t offset, uint32_t value) {    // mov dword gs:[offset], value
    static constexpr uint8_t k[] = {0x65, 0xc7, 0x04, 0x25};
    bytes(k, 4);
    word32(offset);
    word32(value);
  }
  void push_gs(uint32_t offset) {
    static constexpr uint8_t k[] = {0x65, 0xff, 0x34, 0x25};
    bytes(k, 4);
    word32(offset);
  }
  void pop_gs(uint32_t offset) {
    static constexpr uint8_t k[] = {0x65, 0x8f, 0x04, 0x25};
    bytes(k, 4);
    word32(offset);
  }
  void jmp_gs(uint32_t offset) {
    static constexpr uint8_t k[] = {0x65, 0xff, 0x24, 0x25};
    bytes(k, 4);
    word32(offset);
  }
  void jmp_gs_rcx8(uint32_t offset) {                       // jmp qword gs:[rcx*8 + offset]
    static constexpr uint8_t k[] = {0x65, 0xff, 0x24, 0xcd};
    bytes(k, 4);
    word32(offset);
  }
  void ldmxcsr_gs(uint32_t offset) {
    static constexpr uint8_t k[] = {0x65, 0x0f, 0xae, 0x14, 0x25};
    bytes(k, 5);
    word32(offset);
  }

  // [base + disp]
  void store(uint8_t base, int32_t disp, uint8_t r) { memory_form(0x89, r, base, disp); }
  void load(uint8_t r, uint8_t base, int32_t disp) { memory_form(0x8b, r, base, disp); }
  void lea(uint8_t r, uint8_t base, int32_t disp) { memory_form(0x8d, r, base, disp); }
  // r = base + (index << shift) + disp, the lower 32 bits of it when `narrow`; base and index may be kNoRegister.
  void lea_sum(uint8_t r, uint8_t base, uint8_t index, uint8_t shift, int32_t disp, bool narrow) {
    const bool has_base = base != kNoRegister, has_index = index != kNoRegister;
    if (narrow) byte(0x67);
    byte(static_cast<uint8_t>(0x48 | (r >> 3) << 2 | (has_index ? index >> 3 << 1 : 0) | (has_base ? base >> 3 : 0)));
    byte(0x8d);
    byte(static_cast<uint8_t>((has_base ? 0x84 : 0x04) | (r & 7) << 3));
    byte(static_cast<uint8_t>(shift << 6 | (has_index ? index & 7 : 4) << 3 | (has_base ? base & 7 : 5)));
    word32(static_cast<uint32_t>(disp));
  }
  void prefetch_to_write(uint8_t base, int32_t disp) {   // prefetchw [base+disp]
    if (base >= 8) byte(0x41);
    byte(0x0f);
    byte(0x0d);
    modrm_base(1, base, disp);
  }
  void store_imm32(uint8_t base, int32_t disp, uint32_t value) {   // mov qword [base+disp], sign-extended value
    memory_form(0xc7, 0, base, disp);
    word32(value);
  }

  void cmp_dword(uint8_t base, int32_t disp, uint32_t value) {   // cmp dword [base+disp], value
    if (base >= 8) byte(0x41);
    byte(0x81);
    modrm_base(7, base, disp);
    word32(value);
  }
  void cmp_byte(uint8_t base, int32_t disp, uint8_t value) {
    if (base >= 8) byte(0x41);
    byte(0x80);
    modrm_base(7, base, disp);
    byte(value);
  }

  void mov(uint8_t to, uint8_t from) {
    byte(static_cast<uint8_t>(0x48 | (from >> 3) << 2 | to >> 3));
    byte(0x89);
    byte(static_cast<uint8_t>(0xc0 | (from & 7) << 3 | (to & 7)));
  }
  void mov_imm(uint8_t r, uint64_t value) {
    if (value <= 0xffffffffu) {
      if (r >= 8) byte(0x41);
      byte(static_cast<uint8_t>(0xb8 | (r & 7)));
      word32(static_cast<uint32_t>(value));
    } else {
      byte(static_cast<uint8_t>(0x48 | r >> 3));
      byte(static_cast<uint8_t>(0xb8 | (r & 7)));
      word64(value);
    }
  }
  void cmp_imm32(uint8_t r, int32_t value) {
    byte(static_cast<uint8_t>(0x48 | r >> 3));
    byte(0x81);
    byte(static_cast<uint8_t>(0xf8 | (r & 7)));
    word32(static_cast<uint32_t>(value));
  }
  void cmp(uint8_t a, uint8_t b) {
    byte(static_cast<uint8_t>(0x48 | (b >> 3) << 2 | a >> 3));
    byte(0x39);
    byte(static_cast<uint8_t>(0xc0 | (b & 7) << 3 | (a & 7)));
  }
  void movzx_ecx_r11w() {
    static constexpr uint8_t k[] = {0x41, 0x0f, 0xb7, 0xcb};
    bytes(k, 4);
  }
  void movzx_ecx_cl() {
    static constexpr uint8_t k[] = {0x0f, 0xb6, 0xc9};
    bytes(k, 3);
  }
  void bswap_rcx() {
    static constexpr uint8_t k[] = {0x48, 0x0f, 0xc9};
    bytes(k, 3);
  }
  void jrcxz_back(uint32_t distance) {   // to what lies so many bytes before the next instruction
    CHECK(distance <= 128);
    byte(0xe3);
    byte(static_cast<uint8_t>(-static_cast<int32_t>(distance)));
  }
  void jrcxz_over(uint8_t distance) {
    byte(0xe3);
    byte(distance);
  }
  void loop_back(uint32_t distance) {    // rcx -= 1; if (rcx != 0) goto what lies so many bytes before the next instruction
    CHECK(distance <= 128);
    byte(0xe2);
    byte(static_cast<uint8_t>(-static_cast<int32_t>(distance)));
  }
  void jmp_short(uint8_t distance) {
    byte(0xeb);
    byte(distance);
  }
  void rorx_ecx_r11d(uint8_t count) {
    static constexpr uint8_t k[] = {0xc4, 0xc3, 0x7b, 0xf0, 0xcb};
    bytes(k, 5);
    byte(count);
  }
  void pext_ecx_r11d_ecx() {             // ecx = the bits of r11d that are set in ecx, next to each other
    static constexpr uint8_t k[] = {0xc4, 0xe2, 0x22, 0xf5, 0xc9};
    bytes(k, 5);
  }
  void movzx_ecx_cx() {
    static constexpr uint8_t k[] = {0x0f, 0xb7, 0xc9};
    bytes(k, 3);
  }
  void lea_sum(uint8_t r, uint8_t a, uint8_t b) {   // lea r, [a + b]; a is not rbp/r13, b is not rsp
    byte(static_cast<uint8_t>(0x48 | (r >> 3) << 2 | (b >> 3) << 1 | a >> 3));
    byte(0x8d);
    byte(static_cast<uint8_t>((r & 7) << 3 | 4));
    byte(static_cast<uint8_t>((b & 7) << 3 | (a & 7)));
  }
  void lea_rcx_times(uint8_t r, uint8_t scale, int8_t disp) {   // lea r, [r + rcx * scale + disp]; r is not rsp
    byte(static_cast<uint8_t>(0x48 | (r >> 3) << 2 | r >> 3));
    byte(0x8d);
    byte(static_cast<uint8_t>(0x44 | (r & 7) << 3));
    byte(static_cast<uint8_t>(std::countr_zero(scale) << 6 | 1 << 3 | (r & 7)));
    byte(static_cast<uint8_t>(disp));
  }
  void not_rcx() {
    static constexpr uint8_t k[] = {0x48, 0xf7, 0xd1};
    bytes(k, 3);
  }
  void push(uint8_t r) {
    if (r >= 8) byte(0x41);
    byte(static_cast<uint8_t>(0x50 | (r & 7)));
  }
  void pop(uint8_t r) {
    if (r >= 8) byte(0x41);
    byte(static_cast<uint8_t>(0x58 | (r & 7)));
  }
  void push_imm32(int32_t value) {
    byte(0x68);
    word32(static_cast<uint32_t>(value));
  }
  uint8_t* push_code_constant_forward() {   // push qword [rip + ...], to be bound
    byte(0xff);
    byte(0x35);
    word32(0);
    return p_ - 4;
  }
  void lahf_seto() {   // ah, al
    static constexpr uint8_t k[] = {0x9f, 0x0f, 0x90, 0xc0};
    bytes(k, 4);
  }
  void restore_flags_from_rax() {   // add al, 0x7f; sahf
    static constexpr uint8_t k[] = {0x04, 0x7f, 0x9e};
    bytes(k, 3);
  }
  void rdfsbase(uint8_t r) { base_form(0, r); }
  void wrfsbase(uint8_t r) { base_form(2, r); }
  void rdgsbase(uint8_t r) { base_form(1, r); }
  void wrgsbase(uint8_t r) { base_form(3, r); }
  void syscall() {
    byte(0x0f);
    byte(0x05);
  }

  // Transfers to code addresses.
  void jmp(uint64_t target) {
    byte(0xe9);
    rel32(target);
  }
  void jmp_far(uint64_t target) {   // to any address: jmp qword [rip + 0], and the address
    byte(0xff);
    byte(0x25);
    word32(0);
    word64(target);
  }
  void jcc(uint8_t condition, uint64_t target) {
    byte(0x0f);
    byte(static_cast<uint8_t>(0x80 | condition));
    rel32(target);
  }
  void call(uint64_t target) {
    byte(0xe8);
    rel32(target);
  }
  // Forward jumps: returns where the displacement is; `bind` completes it to point here.
  uint8_t* jmp_forward() {
    byte(0xe9);
    word32(0);
    return p_ - 4;
  }
  uint8_t* jcc_forward(uint8_t condition) {
    byte(0x0f);
    byte(static_cast<uint8_t>(0x80 | condition));
    word32(0);
    return p_ - 4;
  }
  void bind(uint8_t* displacement) { bind(displacement, here()); }
  void bind(uint8_t* displacement, uint64_t target) {
    const auto distance = static_cast<int32_t>(target - (execute_ + static_cast<uint64_t>(displacement + 4 - start_)));
    std::memcpy(displacement, &distance, 4);
  }
  // Pads with nops so that a 4-byte displacement `ahead` bytes from here does not cross a cache line: it will be patched while others run it.
  void align_patchable(uint32_t ahead) {
    static constexpr uint8_t kNops[3][3] = {{0x90}, {0x66, 0x90}, {0x0f, 0x1f, 0x00}};
    const auto place = static_cast<uint32_t>((here() + ahead) & 63);
    if (place > 60) bytes(kNops[63 - place], 64 - place);
  }

 private:
  void rel32(uint64_t target) {
    const int64_t distance = static_cast<int64_t>(target - (here() + 4));
    CHECK(distance == static_cast<int32_t>(distance));
    word32(static_cast<uint32_t>(distance));
  }
  void gs_form(uint8_t opcode, uint8_t r, uint32_t offset) {
    byte(0x65);
    byte(static_cast<uint8_t>(0x48 | (r >> 3) << 2));
    byte(opcode);
    byte(static_cast<uint8_t>((r & 7) << 3 | 4));
    byte(0x25);
    word32(offset);
  }
  void gs_form32(uint8_t opcode, uint8_t r, uint32_t offset) {
    byte(0x65);
    if (r >= 8) byte(0x44);
    byte(opcode);
    byte(static_cast<uint8_t>((r & 7) << 3 | 4));
    byte(0x25);
    word32(offset);
  }
  void memory_form(uint8_t opcode, uint8_t r, uint8_t base, int32_t disp) {
    byte(static_cast<uint8_t>(0x48 | (r >> 3) << 2 | base >> 3));
    byte(opcode);
    modrm_base(r, base, disp);
  }
  void modrm_base(uint8_t r, uint8_t base, int32_t disp) {
    const bool small = disp == static_cast<int8_t>(disp);
    const uint8_t mod = disp == 0 && (base & 7) != 5 ? 0 : small ? 0x40 : 0x80;
    byte(static_cast<uint8_t>(mod | (r & 7) << 3 | (base & 7)));
    if ((base & 7) == 4) byte(0x24);
    if (mod == 0x40) byte(static_cast<uint8_t>(disp));
    if (mod == 0x80) word32(static_cast<uint32_t>(disp));
  }
  void base_form(uint8_t which, uint8_t r) {   // f3 REX.W 0f ae /which
    byte(0xf3);
    byte(static_cast<uint8_t>(0x48 | r >> 3));
    byte(0x0f);
    byte(0xae);
    byte(static_cast<uint8_t>(0xc0 | which << 3 | (r & 7)));
  }

  uint8_t* start_;
  uint8_t* p_;
  uint64_t execute_;
};

}  // namespace simrun::engine

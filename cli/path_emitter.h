// What emits the code of CompiledPaths: for each reference of a path a look at level 1 as BasicModelSink::ShortWay and
// WatchedWay make it (decisions 34, 36, 42). It executes nothing itself.
#pragma once

#define XBYAK_NO_OP_NAMES
#include <xbyak/xbyak.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/compiled_paths.h"

namespace simrun::cli {

// Registers:
//   rbx  words of the execution       r8   guesses of the fetch side    rcx  slot (in bytes) of the data reference before,
//   rbp  clock                        r9   slots of it                       valid unless r10 is kNoLine
//   r12  slots of the data side       r11  end of the words at hand     r10  where in its line that was
//   r13  guesses of it                rdi  code_                        xmm0, xmm1  sums
//   r14  instructions left            rsi  the memory for code          rax, rdx    scratch
//   r15  CompiledRun
// Of watched machines, other than these:
//   rdi  line of the data reference at hand
//   rsi  table of strides             r11  scratch
class CompiledPaths::Emitter : public Xbyak::CodeGenerator {
 public:
  // `code`: by path, in terms of getCode().
  Emitter(const Level1& level1, uint64_t capacity, const uint32_t* code, size_t bytes)
      : CodeGenerator(bytes),
        level1_(level1),
        code_(code),
        capacity_(static_cast<uint32_t>(capacity)),
        cold_begin_(bytes / 2),
        cold_(cold_begin_) {
    emit_routines();
    hot_ = hot_begin_ = getSize();
  }
  // As if nothing had been emitted.
  void clear() {
    hot_ = hot_begin_;
    cold_ = cold_begin_;
  }
  auto entry() const { return reinterpret_cast<void (*)(CompiledRun*)>(const_cast<uint8_t*>(entry_)); }

  // Offset of the code of path `number`; 0 when there is no room.
  uint32_t emit(uint64_t number, const channel::DecodedPath& path);

 private:
  // An offset in a line that is outside of it whatever small distance is added.
  static constexpr uint32_t kNoLine = 1u << 30, kMostDistance = 1u << 20;

  // A sum of words: what references of the same have in common.
  struct Base {
    uint16_t a = 0, b = 0;
    uint8_t shift = 0;
    bool of_fs = false;  // and the base of FS
    bool operator==(const Base&) const = default;
  };

  auto of_run(size_t member) { return qword[r15 + static_cast<uint32_t>(member)]; }
  void emit_routines();
  void load_shared();
  void call_out(size_t function);
  void dispatch();
  void emit_watching();
  void fetch(uint32_t index, uint64_t line);
  // Returns how many operands that was.
  uint32_t special(const channel::DecodedPath& path, uint32_t index, std::array<uint32_t, 8>& sums);
  void data(uint32_t index, const channel::Reference& r, uint64_t pc, bool of_fs);
  void look_up(uint32_t index, const channel::Reference& r, uint64_t pc, const Base& base, uint64_t constant);
  void name_fetched(uint64_t line);
  void name_data(bool writes);
  void call_for_name(bool writes) {
    mov(esi, uint32_t{writes});
    call(name_);
  }
  void find_page(uint32_t is_data, uint64_t mask);
  void look_at_fetched_page(uint64_t line);
  void look_at_data_page();
  void compare_with_end(const Xbyak::Reg64& words) {
    if (level1_.is_watched)
      cmp(words, of_run(offsetof(CompiledRun, paths.end)));
    else
      cmp(words, r11);
  }
  void note_stride(uint32_t index, uint64_t pc);
  void put_address(const Base& base, uint64_t constant);
  void make(uint32_t index) {
    mov(esi, index);
    call(make_);
  }
  // What is done in the cold half where `from` leads, which was jumped to; then it goes on at `behind`, which is bound.
  template <class Emit>
  void otherwise(const Xbyak::Label& from, const Xbyak::Label& behind, Emit emit) {
    later_.push_back([this, from = Xbyak::Label(from), behind = Xbyak::Label(behind), emit]() mutable {
      L(from);
      emit();
      jmp(behind, T_NEAR);
    });
  }
  // A miss: of the line of which rax is the key (Cache::Recent).
  void miss(uint32_t index, channel::ReferenceKind kind) {
    mov(esi, level1_.is_watched ? index : static_cast<uint32_t>(kind));
    call(miss_);
  }
  void otherwise_miss(const Xbyak::Label& from, const Xbyak::Label& behind, uint32_t index, channel::ReferenceKind kind) {
    otherwise(from, behind, [this, index, kind] { miss(index, kind); });
  }

  const Level1 level1_;
  const uint32_t* const code_;
  const uint32_t capacity_;
  const size_t cold_begin_;
  size_t hot_begin_ = 0, hot_ = 0, cold_;
  const uint8_t* entry_ = nullptr;
  Xbyak::Label leave_, make_, make_special_, miss_, name_, look_up_page_[2];
  // Of the path that is emitted.
  uint64_t number_ = 0;
  uint64_t line_ = 0;         // fetched last
  uint64_t page_ = 0;         // of the fetch before, unless kNoLine: the TLB's most recent
  bool has_before_ = false;   // a data reference to before_ + constant_before_
  bool before_writes_ = false;
  Base before_;
  uint64_t constant_before_ = 0;
  std::vector<std::function<void()>> later_;  // what emits the cold half
};

}  // namespace simrun::cli

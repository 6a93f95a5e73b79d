#include "cli/path_emitter.h"

#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"

namespace simrun::cli {

using channel::DecodedPath;
using channel::Reference;
using channel::ReferenceKind;
using sim::Cache;

namespace {

constexpr size_t kMostBytesOfReference = 256, kMostOfWatched = 512;  // in each half; the latter of named memory too

bool fits_32(uint64_t value) {
  const auto number = static_cast<int64_t>(value);
  return number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max();
}

static_assert(sizeof(Cache::Recent) == 16 && sizeof(Cache::Guess) == 2);
constexpr uint32_t kSlotShift = 4;
constexpr size_t kKey = offsetof(Cache::Recent, key), kUsed = offsetof(Cache::Recent, used);

using channel::MemoryNames;
constexpr uint32_t kTranslationShift = 5;
static_assert(sizeof(MemoryNames::Translation) == 1 << kTranslationShift);
constexpr uint32_t page_at(bool write) {
  return static_cast<uint32_t>(offsetof(MemoryNames::Translation, page) + write * sizeof(uint64_t));
}
constexpr uint32_t kDistance = offsetof(MemoryNames::Translation, distance);

}  // namespace

void CompiledPaths::Emitter::load_shared() {
  mov(r8, of_run(offsetof(CompiledRun, fetch_guesses)));
  mov(r9, of_run(offsetof(CompiledRun, fetch_slots)));
  if (level1_.is_watched) {
    mov(rdi, of_run(offsetof(CompiledRun, data_line)));
    mov(rsi, of_run(offsetof(CompiledRun, strides)));
  } else {
    mov(r11, of_run(offsetof(CompiledRun, paths.end)));
    mov(rdi, reinterpret_cast<uint64_t>(code_));
    mov(rsi, reinterpret_cast<uint64_t>(getCode()));
  }
  movaps(xmm0, xword[r15 + offsetof(CompiledRun, paths.sums)]);
  movaps(xmm1, xword[r15 + offsetof(CompiledRun, paths.sums) + 16]);
}

// Calls a function of CompiledRun: of that, esi, and rdx. Eight pushes and calls deep, so the stack is aligned.
void CompiledPaths::Emitter::call_out(size_t function) {
  mov(of_run(offsetof(CompiledRun, paths.at)), rbx);
  mov(of_run(offsetof(CompiledRun, clock)), rbp);
  movaps(xword[r15 + offsetof(CompiledRun, paths.sums)], xmm0);
  movaps(xword[r15 + offsetof(CompiledRun, paths.sums) + 16], xmm1);
  if (level1_.is_watched) mov(of_run(offsetof(CompiledRun, data_line)), rdi);
  mov(rdi, r15);
  call(of_run(function));
  mov(rbp, of_run(offsetof(CompiledRun, clock)));
  load_shared();
  mov(r10d, kNoLine);
}

void CompiledPaths::Emitter::emit_routines() {
  const Xbyak::Reg64 kept[] = {rbx, rbp, r12, r13, r14, r15};
  // At offset 0: where paths without code lead.
  L(leave_);
  mov(of_run(offsetof(CompiledRun, paths.at)), rbx);
  mov(of_run(offsetof(CompiledRun, paths.left)), r14);
  mov(of_run(offsetof(CompiledRun, clock)), rbp);
  movaps(xword[r15 + offsetof(CompiledRun, paths.sums)], xmm0);
  movaps(xword[r15 + offsetof(CompiledRun, paths.sums) + 16], xmm1);
  for (size_t k = std::size(kept); k-- != 0;) pop(kept[k]);
  ret();

  align(16);
  L(make_);  // esi: the index of the reference
  call_out(offsetof(CompiledRun, make));
  ret();
  align(16);
  L(make_special_);  // esi: the index of the operand
  call_out(offsetof(CompiledRun, make_special));
  ret();
  align(16);
  L(miss_);  // esi: its kind, or its index, rax: the key of its line
  mov(rdx, rax);
  shr(rdx, 1);
  call_out(level1_.is_watched ? offsetof(CompiledRun, miss_of) : offsetof(CompiledRun, miss));
  ret();
  if (level1_.is_watched) emit_watching();
  if (level1_.is_named) {
    align(16);
    L(name_);  // rax: an address of which the table knows no name, esi: whether it is written; then rax is the name
    mov(of_run(offsetof(CompiledRun, kept)), rax);
    mov(rdx, rax);
    call_out(offsetof(CompiledRun, distance));
    add(rax, of_run(offsetof(CompiledRun, kept)));
    ret();
  }

  align(16);
  entry_ = getCurr();
  for (const Xbyak::Reg64& r : kept) push(r);
  mov(r15, rdi);
  mov(rbx, of_run(offsetof(CompiledRun, paths.at)));
  mov(r14, of_run(offsetof(CompiledRun, paths.left)));
  mov(rbp, of_run(offsetof(CompiledRun, clock)));
  mov(r12, of_run(offsetof(CompiledRun, data_slots)));
  mov(r13, of_run(offsetof(CompiledRun, data_guesses)));
  load_shared();
  dispatch();
  align(16);
}

// What sees every access.
void CompiledPaths::Emitter::emit_watching() {
  if (!level1_.has_tlb) return;
  // The key of a page is in rdx, which its side's shortcut does not have. Keep rax.
  for (const uint32_t is_data : {0u, 1u}) {
    align(16);
    L(look_up_page_[is_data]);
    mov(of_run(offsetof(CompiledRun, kept)), rax);
    mov(esi, is_data);
    shr(rdx, 1);
    call_out(offsetof(CompiledRun, look_up_page));
    mov(rax, of_run(offsetof(CompiledRun, kept)));
    ret();
  }
}

// Of the page in rdx: rcx = its place in the TLB, as the shortcut guesses it, rdx = its key. "Equal": it is there.
void CompiledPaths::Emitter::find_page(uint32_t is_data, uint64_t mask) {
  const size_t pages = offsetof(CompiledRun, pages) + is_data * sizeof(Cache::Shortcut);
  mov(rcx, rdx);  // Cache::place_of
  shr(rcx, Cache::kPlaceFold);
  xor_(ecx, edx);
  and_(ecx, static_cast<uint32_t>(mask));
  mov(r11, of_run(pages + offsetof(Cache::Shortcut, guesses)));
  movzx(ecx, word[r11 + rcx * 2]);
  shl(ecx, kSlotShift);
  add(rcx, of_run(pages + offsetof(Cache::Shortcut, slots)));
  add(rdx, rdx);  // none is modified
  cmp(ptr[rcx + kKey], rdx);
}

// To the code of the path at rbx.
void CompiledPaths::Emitter::dispatch() {
  mov(rax, ptr[rbx]);
  cmp(rax, capacity_);
  jae(leave_, T_NEAR);
  if (level1_.is_watched) {
    mov(rdx, reinterpret_cast<uint64_t>(code_));
    mov(eax, ptr[rdx + rax * 4]);
    mov(rdx, reinterpret_cast<uint64_t>(getCode()));
    add(rax, rdx);
  } else {
    mov(eax, ptr[rdi + rax * 4]);
    add(rax, rsi);
  }
  jmp(rax);
}

uint32_t CompiledPaths::Emitter::emit(uint64_t number, const DecodedPath& path) {
  const size_t most = (path.reference_count + path.special_count + 2) *
                      (level1_.is_watched || level1_.is_named ? kMostOfWatched : kMostBytesOfReference);
  if (hot_ + most > cold_begin_ || cold_ + most > 2 * cold_begin_) return 0;
  const size_t cold_start = cold_;
  const auto start = static_cast<uint32_t>(hot_);
  // As PathSums has them; the second counts paths here.
  std::array<uint32_t, 8> sums = {path.words,  1u,           path.fetches, path.loads, path.stores, path.prefetches,
                                  path.flushes, path.modifications};
  Xbyak::Label sums_place;

  setSize(hot_);
  if (path.words != 0) {  // is all of it there?
    lea(rax, ptr[rbx + 8 * (path.words + 1)]);
    compare_with_end(rax);
    ja(leave_, T_NEAR);
  }
  number_ = number;
  has_before_ = false;
  page_ = CompiledRun::kNoLine;
  for (uint32_t i = 0, k = 0; i < path.reference_count || k < path.special_count;) {
    if (k < path.special_count && path.specials[k].position == i) {
      k += special(path, k, sums);
      continue;
    }
    const Reference& r = path.references[i];
    if (r.kind == ReferenceKind::kFetch)
      fetch(i, static_cast<uint64_t>(r.disp) + 2 * number);
    else
      data(i, r, path.pcs[i], false);
    ++i;
  }
  paddd(xmm0, ptr[rip + sums_place]);
  paddd(xmm1, ptr[rip + sums_place + 16]);
  add(rbx, 8 * (path.words + 1));
  sub(r14, path.instructions);
  jle(leave_, T_NEAR);
  compare_with_end(rbx);
  je(leave_, T_NEAR);
  dispatch();
  hot_ = getSize();

  setSize(cold_);
  align(16);
  L(sums_place);
  for (const uint32_t sum : sums) dd(sum);
  for (size_t i = 0; i < later_.size(); ++i) {
    const auto emit_it = std::move(later_[i]);  // which may add to later_
    emit_it();
  }
  later_.clear();
  cold_ = getSize();
  CHECK(hot_ <= start + most && cold_ <= cold_start + most);
  return start;
}

// `line`: without the tag.
void CompiledPaths::Emitter::fetch(uint32_t index, uint64_t line) {
  const bool is_first = index == 0;
  Xbyak::Label miss, behind, skip;
  const auto last_line = of_run(offsetof(CompiledRun, paths.last_line));
  if (is_first) {
    mov(rax, line);
    cmp(rax, last_line);
    je(skip, T_NEAR);
  } else if (const uint64_t distance = line - line_; fits_32(distance)) {
    mov(rax, last_line);
    add(rax, static_cast<uint32_t>(distance));
  } else {
    mov(rax, line);
  }
  line_ = line;
  mov(last_line, rax);
  const uint64_t tag = level1_.tag >> level1_.line_shift;
  if (tag != 0) {
    mov(rdx, tag);
    xor_(rax, rdx);
  }
  if (level1_.is_named) name_fetched(line);
  if (const uint64_t page = (line ^ tag) >> level1_.page_shift; level1_.has_tlb && (page != page_ || level1_.is_named)) {
    look_at_fetched_page(line ^ tag);
    page_ = is_first ? CompiledRun::kNoLine : page;  // the first may be skipped
  }
  if (level1_.is_named) {
    mov(rdx, rax);  // Cache::place_of
    shr(rdx, Cache::kPlaceFold);
    xor_(edx, eax);
    and_(edx, static_cast<uint32_t>(level1_.fetch_mask));
    movzx(edx, word[r8 + rdx * 2]);
  } else {
    movzx(edx, word[r8 + static_cast<uint32_t>(2 * Cache::place_of(line ^ tag, level1_.fetch_mask))]);
  }
  shl(edx, kSlotShift);
  add(rax, rax);  // the key of a line that is not modified; of one that is, the general way knows
  cmp(ptr[r9 + rdx + kKey], rax);
  jne(miss, T_NEAR);
  inc(rbp);
  mov(ptr[r9 + rdx + kUsed], rbp);
  L(behind);
  otherwise_miss(miss, behind, index, ReferenceKind::kFetch);
  if (!level1_.split) has_before_ = false;  // its line is the most recent now
  if (is_first) otherwise(skip, behind, [this] { inc(dword[r15 + offsetof(CompiledRun, paths.skipped)]); });
}

uint32_t CompiledPaths::Emitter::special(const DecodedPath& path, uint32_t index, std::array<uint32_t, 8>& sums) {
  const border::OperandDescriptor& o = path.specials[index].operand;
  if (!is_inline(o, level1_.line_shift)) {
    mov(esi, index);
    call(make_special_);
    has_before_ = false;
    return 1 + path.specials[index].interleaved;
  }
  // In the terms of channel::Reference: an absent word reads the path's number.
  const auto index_of = [](uint16_t w) { return w == border::kNoWord ? uint16_t{0} : w; };
  auto disp = static_cast<uint64_t>(o.disp);
  if (o.word_a == border::kNoWord) disp -= number_;
  if (o.word_b == border::kNoWord) disp -= number_;
  const ReferenceKind kind = channel::to_reference_kind(o.kind);
  const auto shift = static_cast<uint8_t>(o.word_b == border::kNoWord ? 0 : o.shift);
  data(path.reference_count + index,
       {static_cast<int64_t>(disp), index_of(o.word_a), index_of(o.word_b), static_cast<uint16_t>(o.size), shift, kind},
       path.specials[index].pc, true);
  sums[3] += kind != ReferenceKind::kStore, sums[4] += kind != ReferenceKind::kLoad;
  sums[7] += kind == ReferenceKind::kReadModifyWrite;
  return 1;
}

// rax = the name of the line.
void CompiledPaths::Emitter::name_fetched(uint64_t line) {
  Xbyak::Label unknown, behind;
  const uint64_t address = line << level1_.line_shift, page = address >> MemoryNames::kPageShift;
  const auto place = static_cast<uint32_t>(page % MemoryNames::kTranslations << kTranslationShift);
  mov(rdx, of_run(offsetof(CompiledRun, names)));
  mov(rax, page);
  cmp(ptr[rdx + place + page_at(false)], rax);
  mov(rax, address);
  jne(unknown, T_NEAR);
  add(rax, ptr[rdx + place + kDistance]);
  L(behind);
  shr(rax, level1_.line_shift);
  otherwise(unknown, behind, [this] { call_for_name(false); });
}

// rax, an address, becomes its name.
void CompiledPaths::Emitter::name_data(bool writes) {
  Xbyak::Label unknown, behind;
  mov(rdx, rax);
  shr(rdx, MemoryNames::kPageShift);
  mov(ecx, edx);
  and_(ecx, static_cast<uint32_t>(MemoryNames::kTranslations - 1));
  shl(ecx, kTranslationShift);
  add(rcx, of_run(offsetof(CompiledRun, names)));
  cmp(ptr[rcx + page_at(writes)], rdx);
  jne(unknown, T_NEAR);
  add(rax, ptr[rcx + kDistance]);
  L(behind);
  otherwise(unknown, behind, [this, writes] { call_for_name(writes); });
}

// Of the line in rax, which is `line` unless memory has names. Whether the page is that of the fetch before is not asked: it cannot be
// foreseen (decision 36).
void CompiledPaths::Emitter::look_at_fetched_page(uint64_t line) {
  Xbyak::Label absent, behind;
  if (level1_.is_named) {
    mov(rdx, rax);
    if (level1_.page_shift != 0) shr(rdx, level1_.page_shift);
    find_page(0, level1_.fetched_page_mask);
    mov(r10d, kNoLine);  // rcx was needed
    jne(absent, T_NEAR);
    inc(rbp);
    mov(ptr[rcx + kUsed], rbp);
  } else {
    const uint64_t page = line >> level1_.page_shift;
    mov(r11, of_run(offsetof(CompiledRun, pages) + offsetof(Cache::Shortcut, guesses)));
    movzx(r11d, word[r11 + static_cast<uint32_t>(2 * Cache::place_of(page, level1_.fetched_page_mask))]);
    shl(r11d, kSlotShift);
    add(r11, of_run(offsetof(CompiledRun, pages) + offsetof(Cache::Shortcut, slots)));
    mov(rdx, 2 * page);  // its key: none is modified
    cmp(ptr[r11 + kKey], rdx);
    jne(absent, T_NEAR);
    inc(rbp);
    mov(ptr[r11 + kUsed], rbp);
  }
  L(behind);
  otherwise(absent, behind, [this] { call(look_up_page_[0]); });
}

// Of the line in rax, as look_at_fetched_page().
void CompiledPaths::Emitter::look_at_data_page() {
  mov(rdi, rax);
  if (!level1_.has_tlb) return;
  Xbyak::Label absent, behind;
  mov(rdx, rax);
  if (level1_.page_shift != 0) shr(rdx, level1_.page_shift);
  find_page(1, level1_.data_page_mask);
  jne(absent, T_NEAR);
  inc(rbp);
  mov(ptr[rcx + kUsed], rbp);
  L(behind);
  otherwise(absent, behind, [this] { call(look_up_page_[1]); });
}

// Shows the line in rdi, which is a hit, to who goes by instruction: as Stride::notes(). The only branch is for what is wanted: which instruction
// had the entry last, and with what line, cannot be foreseen.
void CompiledPaths::Emitter::note_stride(uint32_t index, uint64_t pc) {
  if (!level1_.has_stride) return;
  using Stride = sim::prefetch::Stride;
  const auto entry = static_cast<uint32_t>(Stride::place_of(pc) * sizeof(Stride::Entry));
  const auto of_entry = [&](size_t member) { return qword[rsi + entry + static_cast<uint32_t>(member)]; };
  const auto its_pc = of_entry(offsetof(Stride::Entry, pc)), its_line = of_entry(offsetof(Stride::Entry, line)),
             its_next = of_entry(offsetof(Stride::Entry, next));
  Xbyak::Label wants, behind;
  cmp(rdi, its_next);
  je(wants, T_NEAR);  // or another instruction does
  mov(rax, its_line);
  lea(rdx, ptr[rdi + rdi]);
  sub(rdx, rax);
  cmp(rax, rdi);
  cmove(rdx, its_next);
  mov(r11, pc);
  mov(rax, Stride::kNone);
  cmp(its_pc, r11);
  cmovne(rdx, rax);
  mov(its_pc, r11);
  mov(its_line, rdi);
  mov(its_next, rdx);
  L(behind);
  otherwise(wants, behind, [this, index] {
    lea(rax, ptr[rdi + rdi]);
    miss(index, ReferenceKind::kLoad);
  });
}

void CompiledPaths::Emitter::data(uint32_t index, const Reference& r, uint64_t pc, bool of_fs) {
  const uint32_t line_bytes = 1u << level1_.line_shift;
  if (r.kind > ReferenceKind::kReadModifyWrite || r.bytes > line_bytes) {
    has_before_ = false;
    return make(index);
  }
  // A word that is absent reads the path's number, and the constant takes it back.
  Base base{r.a, r.b, r.shift, of_fs};
  auto constant = static_cast<uint64_t>(r.disp);
  if (r.a == 0) constant += number_;
  if (r.b == 0) constant += number_ << r.shift, base.shift = 0;
  const bool writes = r.kind >= ReferenceKind::kStore;
  const uint64_t distance = constant - constant_before_;
  // The first write to a page may change its name.
  const bool may_rename = level1_.is_named && writes && !before_writes_;
  if (has_before_ && base == before_ && distance + kMostDistance < 2 * kMostDistance && !may_rename) {
    // Mostly on the line of the reference before, which is the most recent one and stays it: then this is all.
    Xbyak::Label elsewhere, is_clean, behind;
    lea(r10d, ptr[r10 + static_cast<int32_t>(distance)]);
    cmp(r10d, line_bytes - r.bytes);
    ja(elsewhere, T_NEAR);
    if (writes && !before_writes_) {
      test(byte[r12 + rcx + kKey], 1);
      jz(is_clean, T_NEAR);
    }
    note_stride(index, pc);
    L(behind);
    if (writes && !before_writes_) {
      otherwise(is_clean, behind, [this, index, kind = r.kind] {
        mov(rax, ptr[r12 + rcx + kKey]);
        miss(index, kind);
      });
    }
    otherwise(elsewhere, behind, [this, index, r, pc, base, constant] { look_up(index, r, pc, base, constant); });
  } else {
    look_up(index, r, pc, base, constant);
  }
  has_before_ = true;
  before_writes_ = writes;
  before_ = base;
  constant_before_ = constant;
}

// rax = the address.
void CompiledPaths::Emitter::put_address(const Base& base, uint64_t constant) {
  const bool fits = fits_32(constant);
  const int32_t disp = fits ? static_cast<int32_t>(constant) : 0;
  const bool is_constant = base.a == 0 && base.b == 0;
  if (is_constant) {
    mov(rax, constant);
  } else if (base.b == 0) {
    mov(rax, ptr[rbx + 8 * base.a]);
    if (disp != 0) add(rax, static_cast<uint32_t>(disp));
  } else {
    mov(rcx, ptr[rbx + 8 * base.b]);
    if (base.a == 0) {
      lea(rax, ptr[rcx * (1 << base.shift) + disp]);
    } else {
      mov(rax, ptr[rbx + 8 * base.a]);
      lea(rax, ptr[rax + rcx * (1 << base.shift) + disp]);
    }
  }
  if (!is_constant && !fits) {
    mov(rcx, constant);
    add(rax, rcx);
  }
  if (base.of_fs) add(rax, of_run(offsetof(CompiledRun, paths.fs)));
}

void CompiledPaths::Emitter::look_up(uint32_t index, const Reference& r, uint64_t pc, const Base& base,
                                     uint64_t constant) {
  Xbyak::Label crosses, miss, behind;
  const uint32_t line_bytes = 1u << level1_.line_shift;
  const uint64_t tag = level1_.tag >> level1_.line_shift;
  put_address(base, constant);
  if (level1_.is_named) name_data(r.kind >= ReferenceKind::kStore);
  mov(r10d, eax);
  and_(r10d, line_bytes - 1);
  if (r.bytes > 1) {
    cmp(r10d, line_bytes - r.bytes);
    ja(crosses, T_NEAR);
  }
  shr(rax, level1_.line_shift);
  if (tag != 0) {
    mov(rcx, tag);
    xor_(rax, rcx);
  }
  if (level1_.is_watched) look_at_data_page();
  mov(rcx, rax);  // Cache::place_of
  shr(rcx, Cache::kPlaceFold);
  xor_(ecx, eax);
  and_(ecx, static_cast<uint32_t>(level1_.data_mask));
  movzx(ecx, word[r13 + rcx * 2]);
  shl(ecx, kSlotShift);
  lea(rax, ptr[rax + rax + 1]);
  if (r.kind >= ReferenceKind::kStore) {
    cmp(ptr[r12 + rcx + kKey], rax);
  } else {
    mov(rdx, ptr[r12 + rcx + kKey]);
    or_(rdx, 1);
    cmp(rdx, rax);
  }
  jne(miss, T_NEAR);
  inc(rbp);
  mov(ptr[r12 + rcx + kUsed], rbp);
  note_stride(index, pc);
  L(behind);
  otherwise_miss(miss, behind, index, r.kind);
  if (r.bytes > 1) otherwise(crosses, behind, [this, index] { make(index); });
}

}  // namespace simrun::cli

#include "cli/compiled_paths.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <new>

#include "cli/path_emitter.h"

namespace simrun::cli {

namespace {

size_t tables_bytes(uint64_t capacity) { return 2 * capacity * sizeof(uint32_t); }

}  // namespace

CompiledPaths::CompiledPaths(const Level1& level1, uint64_t capacity, const Room& room)
    : level1_(level1), capacity_(capacity), room_(room) {
  void* tables = mmap(nullptr, tables_bytes(capacity), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (tables == MAP_FAILED) throw std::bad_alloc();
  code_ = static_cast<uint32_t*>(tables);
  executions_ = code_ + capacity;
  constexpr uint64_t kMostPlaces = uint64_t{1} << 30;
  if (capacity > std::numeric_limits<int32_t>::max() || level1.fetch_mask >= kMostPlaces || level1.data_mask >= kMostPlaces) return;
  try {
    emitter_ = std::make_unique<Emitter>(level1, capacity, code_, room.bytes);
    enter_ = emitter_->entry();
  } catch (const Xbyak::Error&) {
  }
}

CompiledPaths::~CompiledPaths() { munmap(code_, tables_bytes(capacity_)); }

// When there is no room any more, the program has more paths than pay: all begins anew, for those that are hotter.
void CompiledPaths::compile(uint64_t word, const channel::DecodedPath& path) {
  executions_[word] = 0;
  if (emitter_ == nullptr) return;
  code_[word] = emitter_->emit(word, path);
  if (code_[word] != 0) return;
  if (madvise(code_, capacity_ * sizeof(uint32_t), MADV_DONTNEED) != 0) std::fill_n(code_, capacity_, 0);
  if (was_full_) return emitter_.reset();
  was_full_ = true;
  emitter_->clear();
  room_.executions *= room_.hotter;
}

}  // namespace simrun::cli

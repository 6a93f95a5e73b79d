// What a hierarchy holds, as bytes: the same function of each class writes and reads them, member by member. For the
// same machine in the same version of the program only: there is nothing in them to tell one layout from another, so
// whoever keeps them says of which machine they are (cli/phases/stored_state.h).
//
// Counts are no state: what is read into a new hierarchy starts with none.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/user_error.h"

namespace simrun::sim {

class StateArchive {
 public:
  StateArchive() = default;  // writes
  explicit StateArchive(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)), reads_(true) {}

  bool reads() const { return reads_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  bool at_end() const { return at_ == bytes_.size(); }

  // Throw UserError when there are too few bytes.
  template <class T>
  void array(T* data, size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t size = count * sizeof(T);
    if (!reads_) {
      const auto* const from = reinterpret_cast<const uint8_t*>(data);
      bytes_.insert(bytes_.end(), from, from + size);
      return;
    }
    if (size > bytes_.size() - at_) throw UserError("a stored cache state is cut short");
    if (size != 0) std::memcpy(static_cast<void*>(data), bytes_.data() + at_, size);
    at_ += size;
  }
  template <class T>
  void value(T& v) {
    array(&v, 1);
  }
  // Of the same size at both ends, by the machine.
  template <class T>
  void table(std::vector<T>& v) {
    array(v.data(), v.size());
  }
  // Of any size.
  template <class T, class Allocator>
  void list(std::vector<T, Allocator>& v) {
    uint64_t size = v.size();
    value(size);
    if (reads_ && size > (bytes_.size() - at_) / sizeof(T)) throw UserError("a stored cache state is cut short");
    v.resize(size);
    array(v.data(), v.size());
  }

 private:
  std::vector<uint8_t> bytes_;
  bool reads_ = false;
  size_t at_ = 0;
};

}  // namespace simrun::sim

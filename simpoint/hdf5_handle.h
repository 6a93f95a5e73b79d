// What reading and writing HDF5 share: handles that close themselves, calls that throw.
#pragma once

#include <fmt/format.h>
#include <hdf5.h>

#include <string>
#include <utility>

#include "base/user_error.h"

namespace simrun::simpoint {

class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  // Throws UserError that names `what` when `id` says that the call failed.
  Hdf5Handle(hid_t id, Close close, const std::string& what) : id_(id), close_(close) {
    if (id < 0) throw UserError("HDF5: cannot " + what);
  }
  Hdf5Handle(Hdf5Handle&& o) noexcept : id_(std::exchange(o.id_, -1)), close_(o.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& o) noexcept {
    std::swap(id_, o.id_);
    std::swap(close_, o.close_);
    return *this;
  }
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

inline void hdf5_check(herr_t status, const std::string& what) {
  if (status < 0) throw UserError("HDF5: cannot " + what);
}

// The library's own report of an error is for its programmers: ours says what was being done.
inline void silence_hdf5() {
  H5dont_atexit();   // it would close once more what could not be closed for want of room, and crash (1.10 to 1.14)
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

template <class T>
hid_t hdf5_type();
template <>
inline hid_t hdf5_type<uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
inline hid_t hdf5_type<uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
inline hid_t hdf5_type<double>() {
  return H5T_NATIVE_DOUBLE;
}

}  // namespace simrun::simpoint

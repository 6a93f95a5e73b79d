// Bytes as a file that lives in memory, for readers that want a path.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"

namespace simrun::traces {

class FuzzedFile {
 public:
  explicit FuzzedFile(std::span<const uint8_t> bytes) : descriptor_(memfd_create("fuzzed", 0)) {
    CHECK(descriptor_ >= 0);
    append(bytes);
  }
  ~FuzzedFile() { close(descriptor_); }
  FuzzedFile(const FuzzedFile&) = delete;
  FuzzedFile& operator=(const FuzzedFile&) = delete;

  void append(std::span<const uint8_t> bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t wrote = write(descriptor_, bytes.data() + at, bytes.size() - at);
      CHECK(wrote > 0);
      at += static_cast<size_t>(wrote);
    }
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

// A name that ends as a compression wants it, for the same bytes.
class NamedFuzzedFile {
 public:
  NamedFuzzedFile(const FuzzedFile& file, const std::string& ending)
      : path_(fmt::format("/tmp/simrun_fuzz_{}{}", getpid(), ending)) {
    unlink(path_.c_str());
    CHECK(symlink(fmt::format("/proc/{}/fd/{}", getpid(), file.path().substr(14)).c_str(), path_.c_str()) == 0);
  }
  ~NamedFuzzedFile() { unlink(path_.c_str()); }
  NamedFuzzedFile(const NamedFuzzedFile&) = delete;
  NamedFuzzedFile& operator=(const NamedFuzzedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace simrun::traces

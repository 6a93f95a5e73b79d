// A part of a process's address space that shows a file, as the kernel listed it while the process was stopped.
#pragma once

#include <cstdint>

namespace simrun::border {

// Devices that no file has, in MappedFile and in the last words of kMappingChange (stream.h).
inline constexpr uint64_t kNoDevice = 0;                  // private memory of the process
inline constexpr uint64_t kSegmentDevice = ~uint64_t{0};  // the number is that of a System V segment
inline constexpr uint64_t kSharedMemoryDevice =
    ~uint64_t{1};  // shared memory without a file: one for each mapping call

struct MappedFile {
  uint64_t begin = 0, end = 0;      // addresses, whole pages
  uint64_t offset = 0;              // in the file, bytes
  uint64_t device = 0, number = 0;  // as stat(2) has them: st_dev, st_ino
  bool shared = false;              // MAP_SHARED
};

}  // namespace simrun::border

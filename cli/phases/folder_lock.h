// One call at a time works in a folder.
#pragma once

#include <string>

namespace simrun::cli {

// As long as it lives (or this process does, whatever its children still have open), nobody else gets the lock of the same folder; where files can
// be locked.
class FolderLock {
 public:
  // The folder is there. Throws UserError when another process has it.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Its name in the folder, where it stays.
  static constexpr const char* kFile = ".lock";

 private:
  int descriptor_ = -1;
};

}  // namespace simrun::cli

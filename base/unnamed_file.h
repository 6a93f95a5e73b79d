// Files that have no name before they are complete: when the process ends earlier, whatever ends it, nothing of them
// stays.
#pragma once

#include <string>

namespace simrun {

// For writing, on the file system of `path`, which may exist or not. -1 where there are no such files (O_TMPFILE).
int open_unnamed(const std::string& path);

// Another file of that name goes. False: errno says why.
bool give_name(int unnamed, const std::string& path);

}  // namespace simrun

// A file's bytes, also of files that are made while they are read (proc(5)): a process can go amid it.
#pragma once

#include <string>

namespace simrun {

// 0, or else the number of the error of open(2) or read(2) and an empty text: there is never a part of it.
int read_whole(const char* path, std::string* text);

}  // namespace simrun

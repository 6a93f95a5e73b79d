// Other simulators' traces into the native format. They hold one thread and no code: each instruction becomes a superblock of
// its own, without bytes.
#pragma once

#include <span>
#include <string>

#include "traces/writer.h"

namespace simrun::traces {

struct ImportFormat {
  const char* name;
  const char* summary;
  // Reads `path` (compressed as its name ends) into `writer`. Throws UserError, TraceError with the offset.
  void (*read)(const std::string& path, Writer& writer);
};
std::span<const ImportFormat> import_formats();

void import_champsim(const std::string& path, Writer& writer);
void import_din(const std::string& path, Writer& writer);
void import_lackey(const std::string& path, Writer& writer);

}  // namespace simrun::traces

// Other simulators' traces into the native format. Each instruction becomes a superblock of its own, with its bytes if they
// are there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/writer.h"

namespace simrun::traces {

// What was passed over, each a sentence for the user.
using ImportNotes = std::vector<std::string>;

struct ImportFormat {
  const char* name;
  const char* summary;
  // Reads `path` (compressed as its name ends, or as it begins) into `writer`. Throws UserError, TraceError with the offset.
  ImportNotes (*read)(const std::string& path, Writer& writer);
};
std::span<const ImportFormat> import_formats();

ImportNotes import_champsim(const std::string& path, Writer& writer);
ImportNotes import_din(const std::string& path, Writer& writer);
ImportNotes import_drmemtrace(const std::string& path, Writer& writer);
ImportNotes import_lackey(const std::string& path, Writer& writer);

}  // namespace simrun::traces

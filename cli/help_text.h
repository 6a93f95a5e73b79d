// What --help says besides the list of options.
#pragma once

namespace simrun::cli {

extern const char* const kDescription;
extern const char* const kUsage;
extern const char* const kExamples;

}  // namespace simrun::cli

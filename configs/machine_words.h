// The words of the choices in a machine file, in the order of the enumerations of sim/build/machine_config.h; the first
// is the default.
#pragma once

#include <string>
#include <vector>

namespace simrun::configs {

inline const std::vector<std::string> kReplacementWords = {"lru"};
inline const std::vector<std::string> kInclusionWords = {"inclusive"};
inline const std::vector<std::string> kWriteWords = {"write-back"};
inline const std::vector<std::string> kWriteMissWords = {"allocate"};
inline const std::vector<std::string> kCoherenceWords = {"mesi"};

}  // namespace simrun::configs

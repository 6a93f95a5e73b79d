// The words of the choices in a machine file, in the order of the enumerations of sim/build/machine_config.h; the first
// is the default.
#pragma once

#include <string>
#include <vector>

namespace simrun::configs {

inline const std::vector<std::string> kReplacementWords = {
    "lru", "tree-plru", "bit-plru", "fifo", "random", "nru", "srrip", "brrip", "drrip", "ship", "lip", "bip", "dip"};
inline const std::vector<std::string> kInclusionWords = {"inclusive", "non-inclusive", "exclusive"};
inline const std::vector<std::string> kWriteWords = {"write-back", "write-through"};
inline const std::vector<std::string> kWriteMissWords = {"allocate", "no-allocate"};
inline const std::vector<std::string> kCoherenceWords = {"mesi", "msi", "moesi", "mesif", "none"};
inline const std::vector<std::string> kPrefetchWords = {"next-line", "stride", "stream"};
inline const std::vector<std::string> kAddressesWords = {"virtual", "first-touch"};
inline const std::vector<std::string> kRequestsWords = {"directory", "snooping"};

}  // namespace simrun::configs

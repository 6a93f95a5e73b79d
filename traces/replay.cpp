#include "traces/replay.h"

namespace simrun::traces {

std::vector<XsaveComponent> xsave_components(const nlohmann::json& information) {
  std::vector<XsaveComponent> components;
  const auto machine = information.find("machine");
  if (machine == information.end() || !machine->is_object()) return components;
  const auto list = machine->find("xsave_components");
  if (list == machine->end() || !list->is_array()) return components;
  for (const nlohmann::json& c : *list) {
    if (!c.is_array() || c.size() != 3) throw FormatError("xsave_components: not [number, offset, bytes]");
    uint64_t v[3];
    for (size_t k = 0; k < 3; ++k) {
      if (!c[k].is_number_unsigned()) throw FormatError("xsave_components: not [number, offset, bytes]");
      v[k] = c[k].get<uint64_t>();
      if (v[k] > 1u << 20) throw FormatError("xsave_components: a number is too large");
    }
    if (v[0] > 63) throw FormatError("xsave_components: a number is too large");
    components.push_back({static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<uint32_t>(v[2])});
  }
  return components;
}

}  // namespace simrun::traces

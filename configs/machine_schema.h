// The JSON Schema of machine files, for editors (draft 2020-12). configs/machine.schema.json holds it; a test keeps the
// two equal, and checks that it and the reader know the same keys.
#pragma once

#include <nlohmann/json.hpp>

namespace simrun::configs {

nlohmann::ordered_json machine_schema();

}  // namespace simrun::configs

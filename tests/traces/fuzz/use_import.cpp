#include "tests/traces/fuzz/use_import.h"

#include <filesystem>

#include "base/user_error.h"
#include "tests/traces/fuzz/fuzzed_file.h"
#include "tests/traces/fuzz/use_trace.h"
#include "traces/trace_error.h"

namespace simrun::traces {

namespace {

// Nothing stays of what the conversion wrote, complete or not.
struct Removed {
  std::string path;
  ~Removed() {
    std::error_code error;
    std::filesystem::remove(path, error);
    std::filesystem::remove(path + ".partial", error);
  }
};

}  // namespace

void use_import(ImportNotes (*import)(const std::string&, Writer&), std::span<const uint8_t> input) {
  if (input.empty()) return;
  const char* const endings[] = {"", ".gz", ".xz", ".zst"};
  const char* const ending = input[0] == 254 ? ".lz4" : input[0] == 255 ? ".zip" : endings[input[0] % std::size(endings)];
  const FuzzedFile file(input.subspan(1));
  const NamedFuzzedFile named(file, ending);
  const std::string output = fmt::format("/tmp/simrun_fuzz_{}.trace", getpid());
  const Removed at_the_end{output};
  try {
    Writer writer(output, {{"command", {"fuzz"}}}, {.workers = 1});
    import(named.path(), writer);
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
  } catch (const TraceError&) {
    return;
  } catch (const UserError&) {
    return;
  }
  use_trace(output);
}

}  // namespace simrun::traces

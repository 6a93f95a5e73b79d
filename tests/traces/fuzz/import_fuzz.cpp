// Other people's formats. The first byte chooses format and compression.
#include <filesystem>

#include "base/user_error.h"
#include "tests/traces/fuzz/fuzzed_file.h"
#include "tests/traces/fuzz/use_trace.h"
#include "traces/import/formats.h"
#include "traces/trace_error.h"

namespace simrun::traces {

// Nothing stays of what the conversion wrote, complete or not.
struct Removed {
  std::string path;
  ~Removed() {
    std::error_code error;
    std::filesystem::remove(path, error);
    std::filesystem::remove(path + ".partial", error);
  }
};

void fuzz(std::span<const uint8_t> input) {
  if (input.empty()) return;
  const auto formats = import_formats();
  const char* const endings[] = {"", ".gz", ".xz", ".zst"};
  const FuzzedFile file(input.subspan(1));
  const NamedFuzzedFile named(file, endings[input[0] / formats.size() % std::size(endings)]);
  const std::string output = fmt::format("/tmp/simrun_fuzz_{}.trace", getpid());
  const Removed at_the_end{output};
  try {
    Writer writer(output, {{"command", {"fuzz"}}}, {.workers = 1});
    formats[input[0] % formats.size()].read(named.path(), writer);
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
  } catch (const TraceError&) {
    return;
  } catch (const UserError&) {
    return;
  }
  use_trace(output);
}

}  // namespace simrun::traces

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  simrun::traces::fuzz({data, size});
  return 0;
}

// What is in the sections, as if checksums were right: the input is type (u8), size (u24) and uncompressed payload of each
// section; the file around them is made here. The first instruction of a chunk and their number are the first 8 bytes of its
// payload, so that they can be wrong, too.
#include <cstring>

#include "tests/traces/fuzz/fuzzed_file.h"
#include "tests/traces/fuzz/use_trace.h"
#include "traces/section_file.h"
#include "traces/section_layout.h"

namespace simrun::traces {

void fuzz(std::span<const uint8_t> input) {
  const FileHeader header{kFileMagic, kFormatVersion, 0};
  FuzzedFile file({reinterpret_cast<const uint8_t*>(&header), sizeof header});
  while (input.size() >= 4) {
    const auto type = static_cast<SectionType>(input[0]);
    const size_t stated = input[1] | size_t{input[2]} << 8 | size_t{input[3]} << 16;
    std::span<const uint8_t> payload = input.subspan(4, std::min(stated, input.size() - 4));
    input = input.subspan(4 + payload.size());
    uint32_t numbers[2] = {};
    if (is_chunk(type) && payload.size() >= sizeof numbers) {
      std::memcpy(numbers, payload.data(), sizeof numbers);
      payload = payload.subspan(sizeof numbers);
    }
    file.append(seal_section(type, payload, 1, numbers[0], numbers[1]).bytes);
  }
  use_trace(file.path());
}

}  // namespace simrun::traces

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  simrun::traces::fuzz({data, size});
  return 0;
}

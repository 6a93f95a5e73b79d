// The ELF files that a program maps: build ids, and functions by name.
#include "base/check.h"
#include "tests/traces/fuzz/fuzzed_file.h"
#include "traces/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace simrun::traces;
  const FuzzedFile file({data, size});
  const std::string id = build_id_of(file.path());
  CHECK(id.size() <= 2 * size);
  const Module module{0, file.path(), id, 0x10000, 0x20000, 0};
  for (const uint64_t address : functions_named(module, "f")) CHECK(address >= module.start && address < module.end);
  return 0;
}

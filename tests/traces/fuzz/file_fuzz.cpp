// A trace file as it is: mostly what headers, footers and checksums keep out.
#include "tests/traces/fuzz/fuzzed_file.h"
#include "tests/traces/fuzz/use_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const simrun::traces::FuzzedFile file({data, size});
  simrun::traces::use_trace(file.path());
  return 0;
}

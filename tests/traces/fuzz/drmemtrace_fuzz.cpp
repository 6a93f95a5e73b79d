// DynamoRIO's drmemtrace.
#include "tests/traces/fuzz/use_import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  simrun::traces::use_import(simrun::traces::import_drmemtrace, {data, size});
  return 0;
}

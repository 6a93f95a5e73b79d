// What a developer needs to know of a fault in the engine itself: docs/diagnosis.md has an example.
#pragma once

namespace simrun::engine {

// Into ProcessHeader::report, for simrun to print. Any time, once: a fault on the way leaves what there is by then.
void write_fault_report(const char* what);

}  // namespace simrun::engine

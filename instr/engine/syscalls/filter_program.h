// Classic BPF as seccomp(2) has it: what a filter says of a call, and filters that let the engine's own calls pass.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <vector>

namespace simrun::engine {

using FilterProgram = std::vector<sock_filter>;

// The filter's return value (SECCOMP_RET_*). The program is one that the kernel has accepted (kernel/seccomp.c,
// seccomp_check_filter). Any time.
uint32_t run_filter(const FilterProgram& program, const seccomp_data& data);

// Whether the program asks where the call was made: the kernel would tell it the address of the engine's gate.
bool reads_instruction_pointer(const FilterProgram& program);

// The same filter behind a test that allows what is called from `exempt` ranges, but for the return addresses in
// `subject`.
struct CodeRange {
  uint64_t from, to;
};
FilterProgram with_exemptions(const FilterProgram& program, const std::vector<CodeRange>& exempt,
                              const std::vector<uint64_t>& subject);

}  // namespace simrun::engine

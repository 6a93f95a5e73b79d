// The second dynamic loader in the target: mapped by hand, started as the kernel would start it if it had been executed as a command with
// the engine as its argument. It then loads the engine with C and C++ libraries of its own (ARCHITECTURE.md, section 2).
#pragma once

#include <cstdint>
#include <string>

#include "instr/border/shared_memory.h"
#include "instr/host/remote_process.h"

namespace simrun::host {

inline constexpr uint64_t kEngineStackBytes = 8u << 20;

// Maps the stack that the loader and the engine's main run on.
border::AddressRange map_engine_stack(RemoteProcess& process);

struct EntryPoint {
  uint64_t pc, sp;
  bool lends_files;   // the process cannot open the engine's files: lend_files (lent_files.h) while the loader runs
};

// Maps the loader (PT_INTERP) of the engine and builds its stack: argv = {loader, engine, mapping address in hexadecimal}, an environment
// of GLIBC_TUNABLES and SIMRUN_* only, an auxiliary vector in which the loader is the program. Throws UserError.
EntryPoint prepare_engine(RemoteProcess& process, const std::string& engine_path, uint64_t mapping_address,
                          const border::AddressRange& stack);

}  // namespace simrun::host

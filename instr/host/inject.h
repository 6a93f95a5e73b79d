// Puts the engine into a stopped process: what starting a program and attaching to one have in common.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "instr/host/address_area.h"
#include "instr/host/launch.h"
#include "instr/host/local_mapping.h"
#include "instr/host/private_loader.h"
#include "instr/host/remote_process.h"

namespace simrun::host {

// Throws UserError when /proc is missing or does not know processes by the numbers that system calls give them.
void check_proc();

// The engine's file: `asked`, or where it belongs. Throws UserError.
std::string find_engine(const std::string& asked);

struct LimitsBefore {
  rlimit address_space, data;
};
LimitsBefore make_room_in(pid_t pid, const LaunchOptions& options);

struct Injected {
  LocalMapping mapping;
  EntryPoint entry;   // of the private loader
};
// `blanket`: the mmap area is kept free for the application, and what covers it is put there; null: it is not. The scratch memory that the
// caller may use until the loader starts is at engine_stack_base of the header. Throws UserError.
Injected inject(RemoteProcess& process, const LaunchOptions& options, const std::string& engine, const LimitsBefore& limits,
                Blanket* blanket, uint32_t added_personality);

// Lets the process run, from the private loader's entry on; it is no longer traced. `block_signals`: with all signals blocked. Throws UserError.
void start_engine(RemoteProcess& process, const Injected& injected, bool block_signals);

}  // namespace simrun::host

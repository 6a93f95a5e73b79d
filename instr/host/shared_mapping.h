// The mapping that the simulator and the engine share (instr/border/shared_memory.h): its layout, and its creation in both processes.
#pragma once

#include <cstdint>
#include "instr/border/shared_memory.h"
#include "instr/host/launch.h"
#include "instr/host/local_mapping.h"
#include "instr/host/remote_process.h"

namespace simrun::host {

// Fills the magic number, the options and the layout of `header`; everything else is left alone. Every region starts at a page
// boundary. Throws UserError with status 2 for options that make no sense.
void lay_out(border::ProcessHeader& header, const LaunchOptions& options);
uint64_t mapping_bytes(const LaunchOptions& options);

// Creates a sparse memory file, maps it in both processes and fills the header as lay_out does; target_base says where the target has it.
// `scratch`: some bytes of writable memory of the target. No descriptor stays open on either side. Throws UserError.
LocalMapping create_shared_mapping(RemoteProcess& process, const LaunchOptions& options, uint64_t scratch);

// Maps here what create_shared_mapping() has made in another process. Throws UserError.
LocalMapping map_file(FileDescriptor file);

}  // namespace simrun::host

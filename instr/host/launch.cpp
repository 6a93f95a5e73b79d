#include "instr/host/launch.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/personality.h>

#include <map>

#include "base/user_error.h"
#include "instr/host/address_area.h"
#include "instr/host/exec_stop.h"
#include "instr/host/inject.h"
#include "instr/host/mapped_files.h"
#include "instr/host/program_lookup.h"
#include "instr/host/remote_process.h"
#include "instr/host/shared_mapping.h"

namespace simrun::host {
namespace {

uint32_t added_personality(const LaunchOptions& options) {
  return options.aslr ? 0 : static_cast<uint32_t>(ADDR_NO_RANDOMIZE & ~personality(0xffffffff));
}

// The kernel's random bytes seed stack protectors and hash tables, and code that reads a string next to them sees them: without
// randomisation of addresses they are fixed too, so that a run repeats.
void fix_random_bytes(RemoteProcess& process) {
  const std::map<uint64_t, uint64_t> vector = read_auxiliary_vector(process.pid());
  const auto entry = vector.find(AT_RANDOM);
  if (entry == vector.end()) return;
  const uint8_t bytes[16] = {0x73, 0x9a, 0xc1, 0x5e, 0x2b, 0x84, 0xf6, 0x1d, 0xd7, 0x38, 0xa5, 0x6c, 0x4f, 0xe2, 0x91, 0xb9};
  process.write(entry->second, bytes, sizeof bytes);
}

// Everything between the exec stop and the first instruction of the private loader.
TakenOver take_over(pid_t pid, const LaunchOptions& options, const std::string& engine, uint32_t added_personality) {
  const LimitsBefore limits = make_room_in(pid, options);
  std::vector<border::MappedFile> files = mapped_files(pid);
  RemoteProcess process(pid);
  Blanket blanket{};
  try {
    Injected injected = inject(process, options, engine, limits, &blanket, added_personality);
    if (!options.aslr) fix_random_bytes(process);
    start_engine(process, injected, false);
    return {std::move(injected.mapping), std::move(files)};
  } catch (...) {
    uncover(process, blanket);
    process.give_back();
    throw;
  }
}

}  // namespace

TakenOver take_over_image(pid_t pid, const LaunchOptions& options, const border::ProcessHeader* before) {
  return take_over(pid, options, find_engine(options.engine_path), before != nullptr ? before->added_personality : added_personality(options));
}

Launched launch(const LaunchOptions& options) {
  mapping_bytes(options);  // refuses senseless options before anything runs
  const Program program = find_program(options.command);
  check_proc();
  const std::string engine = find_engine(options.engine_path);
  const ExecStop stop = start_stopped(program, options.aslr);
  ChildGuard child(stop.pid);
  TakenOver taken = take_over(stop.pid, options, engine, added_personality(options));
  Launched launched{stop.pid, std::move(taken.mapping), {}, std::move(taken.files)};
  if (stop.randomisation_refused)
    launched.warnings.push_back("address-space randomisation could not be switched off (a sandbox forbids it): addresses differ from run to run");
  child.release();
  return launched;
}

}  // namespace simrun::host

#include "cli/phases/barriers.h"

#include <vector>

namespace simrun::cli {

namespace {

// GCC's and LLVM's OpenMP, POSIX. A loop's end is a barrier unless it says nowait (then another function is called).
const std::vector<std::string> kForks = {"GOMP_parallel",
                                         "GOMP_parallel_start",
                                         "GOMP_parallel_reductions",
                                         "GOMP_parallel_sections",
                                         "GOMP_parallel_loop_static",
                                         "GOMP_parallel_loop_dynamic",
                                         "GOMP_parallel_loop_guided",
                                         "GOMP_parallel_loop_runtime",
                                         "GOMP_parallel_loop_nonmonotonic_dynamic",
                                         "GOMP_parallel_loop_nonmonotonic_guided",
                                         "GOMP_parallel_loop_nonmonotonic_runtime",
                                         "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                                         "__kmpc_fork_call"};
const std::vector<std::string> kWaits = {"GOMP_barrier", "GOMP_loop_end", "GOMP_sections_end", "__kmpc_barrier",
                                         "pthread_barrier_wait"};

}  // namespace

Synchronisation Barriers::at(const simpoint::CodePlace& place) {
  const Module& module = module_of(place.module);
  if (module.functions.empty()) return Synchronisation::kNone;
  const auto address = module.symbols->address_of_offset(place.offset);
  const auto found = address ? module.functions.find(*address) : module.functions.end();
  return found == module.functions.end() ? Synchronisation::kNone : found->second;
}

const Barriers::Module& Barriers::module_of(const std::string& path) {
  const auto known = modules_.find(path);
  if (known != modules_.end()) return known->second;
  Module module;
  if (path.starts_with('/')) {
    module.symbols = std::make_unique<analysis::ModuleSymbols>(path);
    const auto add = [&](const std::vector<std::string>& names, Synchronisation what) {
      for (const analysis::FunctionSymbol& function : module.symbols->functions(names))
        module.functions.emplace(function.address, what);
    };
    add(kForks, Synchronisation::kFork);
    add(kWaits, Synchronisation::kWait);
  }
  return modules_.emplace(path, std::move(module)).first->second;
}

}  // namespace simrun::cli

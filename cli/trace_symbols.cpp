#include "cli/trace_symbols.h"

#include <fmt/format.h>

namespace simrun::cli {

const std::string& TraceSymbols::name(uint32_t process, uint64_t pc) {
  const auto [at, is_new] = known_.try_emplace({process, pc});
  if (is_new) at->second = find(process, pc);
  return at->second;
}

analysis::ModuleSymbols* TraceSymbols::symbols_of(const traces::Module& module) {
  auto& symbols = by_path_[module.path];
  if (symbols == nullptr) symbols = std::make_unique<analysis::ModuleSymbols>(module.path);
  const bool is_the_file = module.build_id.empty() || symbols->build_id() == module.build_id;
  return symbols->problem().empty() && is_the_file ? symbols.get() : nullptr;
}

TraceSymbols::Code TraceSymbols::code(uint32_t process, uint64_t pc) {
  const traces::Module* const module = trace_.module_of(process, pc);
  if (module == nullptr) return {};
  analysis::ModuleSymbols* const symbols = module->path.starts_with("/") ? symbols_of(*module) : nullptr;
  if (symbols == nullptr) return {{}, module->path};
  const auto address = symbols->address_of_offset(pc - module->start + module->file_offset);
  return {address ? symbols->frames(*address) : std::vector<analysis::SourceFrame>{}, module->path};
}

std::string TraceSymbols::find(uint32_t process, uint64_t pc) {
  const Code known = code(process, pc);
  const std::string file = known.module.substr(known.module.rfind('/') + 1);
  if (known.frames.empty()) return file;
  const analysis::SourceFrame& frame = known.frames.front();
  if (frame.line == 0) return fmt::format("{} in {}", frame.function, file);
  return fmt::format("{} at {}:{} in {}", frame.function, frame.file, frame.line, file);
}

}  // namespace simrun::cli

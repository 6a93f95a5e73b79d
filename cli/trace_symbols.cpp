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

TraceSymbols::Place TraceSymbols::place(uint32_t process, uint64_t pc) {
  Place place;
  place.module = trace_.module_of(process, pc);
  if (place.module == nullptr || !place.module->path.starts_with("/")) return place;
  place.symbols = symbols_of(*place.module);
  if (place.symbols != nullptr)
    place.address = place.symbols->address_of_offset(pc - place.module->start + place.module->file_offset);
  return place;
}

TraceSymbols::Code TraceSymbols::code(uint32_t process, uint64_t pc) {
  const Place p = place(process, pc);
  if (p.module == nullptr) return {};
  return {p.address ? p.symbols->frames(*p.address) : std::vector<analysis::SourceFrame>{}, p.module->path};
}

TraceSymbols::Function TraceSymbols::function(uint32_t process, uint64_t pc) {
  const Place p = place(process, pc);
  if (p.module == nullptr) return {};
  if (!p.address) return {std::nullopt, p.module->path, 0};
  return {p.symbols->function(*p.address), p.module->path, *p.address};
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

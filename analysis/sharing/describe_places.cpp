#include "analysis/sharing/describe_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace simrun::analysis {

namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// Between the program and the allocator: not what the programmer wrote.
bool is_allocation_function(const std::string& name) {
  return name.starts_with("operator new") || name.find("new_allocator<") != std::string::npos ||
         name.find("std::allocator<") != std::string::npos || name.find("allocator_traits<") != std::string::npos;
}

void set_offsets(DataName& name, const VariablePlace& v) {
  name.offset = static_cast<int64_t>(v.offset);
  name.part = static_cast<int64_t>(v.member.empty() ? v.offset : v.member_offset);
  name.size = v.size;
}

}  // namespace

bool is_of_a_library(const std::string& file) {
  const std::string path = std::filesystem::path(file).lexically_normal().string();
  return path.starts_with("/usr/include/") || path.starts_with("/usr/lib/") || path.starts_with("/rustc/") ||
         path.find("/include/c++/") != std::string::npos || path.find("/rustlib/src/") != std::string::npos;
}

const SourceFrame& own_frame(const std::vector<SourceFrame>& frames) {
  const auto own = std::find_if(frames.begin(), frames.end(), [](const SourceFrame& f) { return !f.file.empty() && !is_of_a_library(f.file); });
  return own == frames.end() ? frames.front() : *own;
}

std::string short_source(const SourceFrame& frame) {
  return frame.file.empty() ? "" : fmt::format("{}:{}", file_name(frame.file), frame.line);
}

std::string name_of(const DataName& d) {
  if (!d.member.empty()) {
    const size_t owner = d.kind == PlaceKind::kThread ? d.object.rfind(" of thread ") : std::string::npos;
    const std::string thread = owner == std::string::npos ? "" : d.object.substr(owner);
    const std::string within = d.offset == d.part ? "" : fmt::format("+{}", d.offset - d.part);
    return d.object.substr(0, owner) + d.member + within + thread;
  }
  if (d.offset == 0 || d.kind == PlaceKind::kUnknown) return d.object;
  const bool is_name = d.kind == PlaceKind::kModule || d.kind == PlaceKind::kHeap || d.kind == PlaceKind::kMapping;
  return fmt::format("{}{}{:+}", d.object, is_name ? "" : " ", d.offset);
}

std::vector<SourceFrame> PlaceNames::code(const Place& place) {
  if (place.kind != PlaceKind::kModule) return {};
  return space_.modules()[place.id]->frames(place.offset);
}

std::string PlaceNames::module(const Place& place) const {
  return place.kind == PlaceKind::kModule ? space_.modules()[place.id]->path() : "";
}

DataName PlaceNames::variable(const Place& place) {
  DataName name;
  ModuleSymbols& module = *space_.modules()[place.id];
  if (const auto v = module.variable(place.offset)) {
    name.object = v->name;
    name.member = v->member;
    if (!v->file.empty()) name.declared = fmt::format("{}:{}", file_name(v->file), v->line);
    set_offsets(name, *v);
    name.part_size = v->member.empty() ? 0 : v->member_size;
    name.element_size = v->element_size;
    return name;
  }
  name.object = fmt::format("{}+{:#x}", file_name(module.path()), place.offset);
  return name;
}

// Of a call from code without symbols: in the file, as far as it is in one.
std::string PlaceNames::return_address(uint32_t site, size_t k) const {
  const Place& call = space_.calls(site)[k];
  if (call.kind != PlaceKind::kModule) return fmt::format("{:#x}", space_.return_addresses(site)[k]);
  return fmt::format("? ({}+{:#x})", file_name(module(call)), call.offset + 1);
}

// `from_program`: without what the program called of libraries' headers.
std::vector<std::string> PlaceNames::callers(uint32_t site, bool from_program) {
  std::vector<std::string> list;
  const auto& calls = space_.calls(site);
  for (size_t k = 0; k < calls.size(); ++k) {
    const Place& place = calls[k];
    const auto frames = code(place);
    if (frames.empty()) list.push_back(return_address(site, k));
    for (const SourceFrame& frame : frames) {
      if (list.empty() && is_allocation_function(frame.function)) continue;
      if (list.empty() && from_program && is_of_a_library(frame.file)) continue;
      const std::string source = short_source(frame);
      const std::string where = source.empty() ? file_name(module(place)) : source;
      list.push_back(fmt::format("{} ({})", frame.function.empty() ? "?" : frame.function, where));
    }
  }
  return list;
}

const std::vector<std::string>& PlaceNames::callers(uint32_t site) {
  const auto [known, is_new] = callers_.try_emplace(site);
  if (is_new) {
    known->second = callers(site, true);
    if (known->second.empty()) known->second = callers(site, false);
  }
  return known->second;
}

DataName PlaceNames::block(const Place& place) {
  DataName name;
  const Block& b = space_.block(place);
  name.allocated_by = callers(b.site);
  const char* what = place.kind == PlaceKind::kHeap ? "heap block" : "mapping";
  const char* how = place.kind == PlaceKind::kHeap ? "allocated" : "mapped";
  name.object = fmt::format(
      "{} of {} bytes {} {}", what, b.bytes, how,
      name.allocated_by.empty() ? fmt::format("by thread {}", b.thread) : "at " + name.allocated_by.front());
  name.offset = name.part = static_cast<int64_t>(place.offset);
  name.size = b.bytes;
  name.block = place.id;
  return name;
}

ObjectName PlaceNames::object(const Place& place) {
  ObjectName name;
  constexpr size_t kCallers = 3;  // enough to see past a program's own wrappers of the allocator
  const bool is_heap = place.kind == PlaceKind::kHeap;
  const auto set = [&](const VariablePlace& v, const char* what) {
    name.name = what + v.name;
    name.size = v.size;
    name.same = v.size > v.offset ? v.size - v.offset - 1 : 0;
  };
  switch (place.kind) {
    case PlaceKind::kModule:
      if (const auto v = space_.modules()[place.id]->variable(place.offset))
        set(*v, "");
      else
        name.name = "data of " + file_name(space_.modules()[place.id]->path());
      break;
    case PlaceKind::kHeap:
    case PlaceKind::kMapping:
      name.allocated_by = callers(space_.block(place).site);
      if (name.allocated_by.size() > kCallers) name.allocated_by.resize(kCallers);
      name.name = fmt::format("{} {}", is_heap ? "heap blocks allocated" : "mappings made",
                              name.allocated_by.empty() ? "by unknown code" : "at " + name.allocated_by.front());
      break;
    case PlaceKind::kThread:
      name.name = "thread-local memory";
      if (!space_.modules().empty() && place.offset <= space_.modules()[0]->thread_local_bytes())
        if (const auto v = space_.modules()[0]->thread_local_variable(space_.modules()[0]->thread_local_bytes() - place.offset))
          set(*v, "thread-local ");
      break;
    case PlaceKind::kStack:
    case PlaceKind::kBreak:
    case PlaceKind::kUnknown:
      name.name = data(place).object;
      break;
  }
  return name;
}

DataName PlaceNames::data(const Place& place) {
  DataName name;
  switch (place.kind) {
    case PlaceKind::kModule:
      name = variable(place);
      break;
    case PlaceKind::kHeap:
    case PlaceKind::kMapping:
      name = block(place);
      break;
    case PlaceKind::kStack:
      name.object = fmt::format("stack of thread {}", place.id);
      name.offset = name.part = -static_cast<int64_t>(place.offset);
      break;
    case PlaceKind::kThread:
      name.object = fmt::format("thread-local memory of thread {}", place.id);
      name.offset = name.part = -static_cast<int64_t>(place.offset);
      if (!space_.modules().empty() && place.offset <= space_.modules()[0]->thread_local_bytes())
        if (const auto v =
                space_.modules()[0]->thread_local_variable(space_.modules()[0]->thread_local_bytes() - place.offset)) {
          name.object = fmt::format("{} of thread {}", v->name, place.id);
          name.member = v->member;
          set_offsets(name, *v);
        }
      break;
    case PlaceKind::kBreak:
      name.object = "heap, outside blocks";
      name.offset = name.part = static_cast<int64_t>(place.offset);
      break;
    case PlaceKind::kUnknown:
      name.object = "unknown memory";
      name.offset = name.part = static_cast<int64_t>(place.offset);
      break;
  }
  name.kind = place.kind;
  return name;
}

}  // namespace simrun::analysis

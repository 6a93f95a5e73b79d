#include "cli/phases/process_origin.h"

#include <fmt/format.h>

namespace simrun::cli {

namespace {

using Birth = host::Family::Birth;

std::string name_of(const host::Family& family, uint32_t index) {
  if (index == 0) return "";
  const Birth& birth = family.birth(index);
  // One that was attached to, or behind a program that is not followed: there is no better name than its number.
  if (birth.kind == Birth::Kind::kLaunched) return fmt::format("n{}", index);
  const std::string parent = birth.parent == 0 ? "0" : name_of(family, birth.parent);
  return birth.kind == Birth::Kind::kForked ? fmt::format("{}.{}", parent, birth.token) : parent + "x";
}

}  // namespace

OriginOf origins_in(const host::Family& family) {
  return [&family](uint32_t index) {
    const Birth& birth = family.birth(index);
    ProcessOrigin origin{name_of(family, index), std::nullopt, std::nullopt};
    if (birth.is_copy) origin.copy_of = birth.parent;
    return origin;
  };
}

}  // namespace simrun::cli

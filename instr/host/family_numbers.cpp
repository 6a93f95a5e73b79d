// The processes of a family by number, as those who read their streams know them.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "instr/host/family.h"

namespace simrun::host {

std::optional<Family::Birth> Family::birth_of_arrival(uint32_t k) const {
  Birth birth = members_[k].birth;
  if (birth.kind == Birth::Kind::kLaunched) return birth;
  const auto& parent = members_[birth.parent].number;
  if (!parent) return std::nullopt;
  birth.parent = *parent;
  return birth;
}

void Family::admit(uint32_t k) {
  if (members_[k].number) return;
  members_[k].number = size();
  numbered_.push_back({k, *birth_of_arrival(k)});
}

void Family::forget(uint32_t index) {
  const uint32_t k = numbered_[index].member;
  for (Departure& d : departures_)
    if (d.member == k && d.thread.joinable()) d.thread.join();
  const bool is_being_left = leaver_.joinable() && !left_;  // by a thread that has its targets in hand
  members_[k].files = std::vector<border::MappedFile>();
  if (k != main_ && !is_being_left) members_[k].target.reset();
}

}  // namespace simrun::host

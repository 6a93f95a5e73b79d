#include <algorithm>
#include <iterator>
#include <string>

#include "simpoint/write_profile.h"

namespace simrun::simpoint {

namespace {

constexpr const char* kKinds[] = {"fixed", "loop", "procedure", "barrier"};

}  // namespace

const char* to_word(IntervalKind kind) { return kKinds[static_cast<size_t>(kind)]; }

bool from_word(const std::string& word, IntervalKind& kind) {
  const auto found = std::find(std::begin(kKinds), std::end(kKinds), word);
  if (found == std::end(kKinds)) return false;
  kind = static_cast<IntervalKind>(found - std::begin(kKinds));
  return true;
}

}  // namespace simrun::simpoint

#include "base/nearest_word.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace simrun {

namespace {

// Letters added, left out, taken for others or for their neighbours.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string in_small_letters(std::string word) {
  for (char& letter : word) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return word;
}

// Of a word of few letters, more of them wrong make another word.
size_t most_edits(size_t letters) { return letters < 2 ? 0 : std::clamp<size_t>(letters / 3, 1, 3); }

}  // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string wanted = in_small_letters(word);
  std::string nearest, begun;
  size_t least = most_edits(word.size()) + 1, begin_so = 0;
  for (const std::string& candidate : candidates) {
    const std::string known = in_small_letters(candidate);
    const size_t distance = edit_distance(wanted, known);
    if (distance < least) nearest = candidate, least = distance;
    if (!wanted.empty() && known.starts_with(wanted)) begun = candidate, ++begin_so;
  }
  return nearest.empty() && begin_so == 1 ? begun : nearest;
}

}  // namespace simrun

// "Did you mean": the known word that is meant, as far as letters tell.
#pragma once

#include <string>
#include <vector>

namespace simrun {

// The candidate with the smallest edit distance to `word`, whether letters are large or small; or the only one that begins with it. Empty
// where none is so near that it is meant: an edit for three letters of the word, at most three.
std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace simrun

// "Did you mean": the known word that is meant, as far as letters tell.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace simrun {

// The candidate with the smallest edit distance to `word`, of at most `most_edits`; empty when there is none.
std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates,
                         size_t most_edits = ~size_t{0});

}  // namespace simrun

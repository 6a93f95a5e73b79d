// Shell completion scripts.
#pragma once

#include <string>

namespace simrun::cli {

// `shell`: bash or zsh. Throws UserError (2) for others.
std::string completion_script(const std::string& shell);

}  // namespace simrun::cli

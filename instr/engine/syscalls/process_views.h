// The texts of /proc/PID/*: from the kernel's to the application's. Dispatcher only.
#pragma once

#include <string>
#include <string_view>

namespace simrun::engine {

// Rewrites the text of the file `name` ("maps", "status", ...) of this process; false: the engine does not show in it.
bool rewrite_process_file(std::string_view name, std::string& text);

// A text that another process read shows a thread that waits for it, with all signals blocked: state and mask as in
// `before`.
void keep_state_of_reader(std::string_view name, std::string_view before, std::string& text);

// Whether rewrite_process_file knows the name.
bool is_rewritten(std::string_view name);

}  // namespace simrun::engine

#include "base/hdf5_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/user_error.h"

namespace simrun {

namespace {

// Beside the executable, or in lib beside its bin, or (tests) where the loader looks.
void* open_module() {
  constexpr const char* kName = "libsimrun-hdf5.so";
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const auto& path : {folder / kName, folder / "../lib" / kName})
    if (std::filesystem::exists(path, error)) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

// Never unloaded: objects of it live on.
void* find_hdf5_function(const char* name) {
  static void* module = nullptr;
  if (module == nullptr) module = open_module();
  void* const function = module == nullptr ? nullptr : dlsym(module, name);
  if (function == nullptr) throw UserError(std::string("HDF5 files are read and written by libsimrun-hdf5.so: ") + dlerror());
  return function;
}

}  // namespace simrun

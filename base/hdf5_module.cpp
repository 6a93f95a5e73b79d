#include "base/hdf5_module.h"

#include <dlfcn.h>

#include <string>

#include "base/user_error.h"

namespace simrun {

// By the executable's own search path (RUNPATH). Never unloaded: objects of it live on.
void* find_hdf5_function(const char* name) {
  static void* module = nullptr;
  if (module == nullptr) module = dlopen("libsimrun-hdf5.so", RTLD_NOW | RTLD_LOCAL);
  void* const function = module == nullptr ? nullptr : dlsym(module, name);
  if (function == nullptr) throw UserError(std::string("HDF5 files are read and written by libsimrun-hdf5.so: ") + dlerror());
  return function;
}

}  // namespace simrun

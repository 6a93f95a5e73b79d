// What needs the HDF5 library is a shared library of its own beside the executable (hdf5/README.md), loaded when it is first wanted.
#pragma once

namespace simrun {

// The function of that name in the module. Throws UserError when the module cannot be loaded.
void* find_hdf5_function(const char* name);

template <class Function>
Function& hdf5_function(const char* name) {
  return *reinterpret_cast<Function*>(find_hdf5_function(name));
}

}  // namespace simrun

// Symbols of one kind by address. (libdwfl goes through a module's whole table for each address that it is asked about.)
// Those of hand-written code have no size: they end where the next one begins or their section ends, or soon.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace simrun::analysis {

class SymbolRanges {
 public:
  // `types`: STT_FUNC and the like. `module` must outlive this.
  SymbolRanges(Dwfl_Module* module, std::initializer_list<int> types);

  struct Range {
    uint64_t start, end;
    std::string name;  // as in the table
  };
  // More of the kind that no table has.
  void add(std::vector<Range> ranges);
  // The one that begins last of those around `address`; of several with the same start the name that programs use, a
  // global one without underscores, then the shortest, then the first by letters. Null: none. Valid as long as this is.
  const Range* at(uint64_t address) const;

 private:
  void put_in_order();

  struct Entry {
    Range range;
    int binding;        // the higher, the better known
    uint64_t limit;     // of one without size: the end of its section
    uint64_t furthest;  // end of this one and all before
  };
  std::vector<Entry> entries_;  // by start, the best name last
};

}  // namespace simrun::analysis

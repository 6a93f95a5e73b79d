#include "instr/engine/dispatch/indirect_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/code_table.h"

namespace simrun::engine {
namespace {

bool g_windows[border::kMaxThreads];   // which slots have theirs; an element belongs to who claimed the slot

uint64_t table_bytes() { return uint64_t{g_process.indirect_places} * 8; }

uint8_t* window_of(uint32_t slot) { return reinterpret_cast<uint8_t*>(g_process.slot(slot)) + border::kSlotBytes; }

// As often as there is room. A zero old size duplicates a shared mapping (mm/mremap.c).
bool map_window(uint32_t slot) {
  uint8_t* const window = window_of(slot);
  for (uint64_t k = 0; k < border::kIndirectTableBytes; k += table_bytes())
    if (mremap(g_process.indirect_table, 0, table_bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, window + k) != window + k) return false;
  return true;
}

bool has_window() { return std::find(std::begin(g_windows), std::end(g_windows), true) != std::end(g_windows); }

}  // namespace

bool make_indirect_table() {
  if (g_process.indirect_table != nullptr) unmap_engine_memory(g_process.indirect_table, table_bytes());
  void* table = map_engine_memory(kFewIndirectPlaces * 8, MAP_SHARED | MAP_POPULATE);
  if (table == MAP_FAILED) return false;
  g_process.indirect_table = static_cast<uint64_t*>(table);
  g_process.indirect_places = kFewIndirectPlaces;
  return true;
}

bool map_indirect_window(uint32_t slot) {
  if (g_windows[slot]) return true;
  const bool has_few = g_process.indirect_places != kAllIndirectPlaces;
  if (has_few && has_window() && !grow_indirect_table()) return false;
  if (map_window(slot)) return g_windows[slot] = true;
  if (g_process.indirect_places == kAllIndirectPlaces) return false;
  // Near the limit of mappings: one of all places, not eight of a few.
  munmap(window_of(slot), border::kIndirectTableBytes);
  return grow_indirect_table() && (g_windows[slot] = map_window(slot));
}

bool map_only_indirect_window(uint32_t slot) {
  std::fill(std::begin(g_windows), std::end(g_windows), false);
  return map_indirect_window(slot);
}

bool grow_indirect_table() {
  void* const table = map_engine_memory(border::kIndirectTableBytes, MAP_SHARED | MAP_POPULATE);
  if (table == MAP_FAILED) return false;
  uint64_t* const few = g_process.indirect_table;
  const uint64_t few_bytes = table_bytes();
  g_process.indirect_table = static_cast<uint64_t*>(table);
  g_process.indirect_places = kAllIndirectPlaces;
  fill_indirect_table();
  const auto window = std::find(std::begin(g_windows), std::end(g_windows), true);   // there is no other (mm/mremap.c: ENOMEM comes first)
  if (window != std::end(g_windows) && !map_window(static_cast<uint32_t>(window - g_windows))) {
    g_process.indirect_table = few;
    g_process.indirect_places = kFewIndirectPlaces;
    unmap_engine_memory(table, border::kIndirectTableBytes);
    return false;
  }
  unmap_engine_memory(few, few_bytes);
  return true;
}

}  // namespace simrun::engine

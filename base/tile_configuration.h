// The configuration of AMX tiles as `sttilecfg` stores it, in words (Intel SDM vol. 1, "TILECFG Memory Layout"): its first row to be done in byte
// 1, the bytes of a row of each tile in pairs of bytes from byte 16 on, their rows from byte 48 on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace simrun {

inline constexpr uint32_t kTileWords = 8, kTiles = 8;
inline constexpr uint32_t kMostTileRows = 16, kMostTileRowBytes = 64;   // of palette 1, the only one there is

// The rows of a tile that a load or store of it has to do, and the bytes of one. None of what is not configured. Of a damaged trace no more than
// there can be.
struct TileRows {
  uint32_t first, end;
  uint32_t bytes;
};

// `configuration`: kTileWords words; `tile`: below kTiles.
inline TileRows tile_rows(const uint64_t* configuration, uint32_t tile) {
  unsigned char bytes[8 * kTileWords];
  std::memcpy(bytes, configuration, sizeof bytes);
  const auto row_bytes = static_cast<uint32_t>(bytes[16 + 2 * tile] | bytes[17 + 2 * tile] << 8);
  const uint32_t rows = row_bytes == 0 ? 0 : bytes[48 + tile];
  return {bytes[1], std::min(rows, kMostTileRows), std::min(row_bytes, kMostTileRowBytes)};
}

}  // namespace simrun

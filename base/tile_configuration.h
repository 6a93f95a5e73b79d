// The configuration of AMX tiles as `sttilecfg` stores it, in words (Intel SDM vol. 1, "TILECFG Memory Layout"): its first row to be done in byte
// 1, the bytes of a row of each tile in pairs of bytes from byte 16 on, their rows from byte 48 on.
#pragma once

#include <cstdint>
#include <cstring>

namespace simrun {

inline constexpr uint32_t kTileWords = 8, kTiles = 8;

// The rows of a tile that a load or store of it has to do, and the bytes of one (today at most 16 and 64). None of what is not configured.
struct TileRows {
  uint32_t first, end;
  uint32_t bytes;
};

// `configuration`: kTileWords words; `tile`: below kTiles.
inline TileRows tile_rows(const uint64_t* configuration, uint32_t tile) {
  unsigned char bytes[8 * kTileWords];
  std::memcpy(bytes, configuration, sizeof bytes);
  const auto row_bytes = static_cast<uint32_t>(bytes[16 + 2 * tile] | bytes[17 + 2 * tile] << 8);
  return {bytes[1], row_bytes == 0 ? 0 : uint32_t{bytes[48 + tile]}, row_bytes};
}

}  // namespace simrun

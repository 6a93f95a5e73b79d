// Classic kernels over doubles in rows, in one fully associative LRU cache: the misses that a calculation by hand gives.
// "Rows" are of n doubles; a line has 8.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

constexpr uint64_t kA = 1 << 24, kB = 2 << 24, kC = 3 << 24;  // bytes

class Kernel {
 public:
  explicit Kernel(uint32_t lines) : hierarchy_(machine(lines)) {}
  void load(uint64_t array, uint64_t n, uint64_t row, uint64_t column) {
    hierarchy_.access(0, Access::kLoad, array + 8 * (row * n + column), 8);
  }
  void store(uint64_t array, uint64_t n, uint64_t row, uint64_t column) {
    hierarchy_.access(0, Access::kStore, array + 8 * (row * n + column), 8);
  }
  uint64_t misses() const { return hierarchy_.statistics().levels[0].total.requests.misses.demand(); }

 private:
  static MachineConfig machine(uint32_t lines) {
    MachineConfig m = small_machine(1);
    m.levels = {unified_level("L1", 1, uint64_t{64} * lines, lines)};
    return m;
  }
  Hierarchy hierarchy_;
};

// for i, j: c[i][j] = sum over k of a[i][k] * b[k][j]
void multiply(Kernel& kernel, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    for (uint64_t j = 0; j < n; ++j) {
      for (uint64_t k = 0; k < n; ++k) kernel.load(kA, n, i, k), kernel.load(kB, n, k, j);
      kernel.store(kC, n, i, j);
    }
}

TEST(Kernels, MatrixMultiply) {
  {
    // A column of b is 64 lines, more than fit beside a row of a: b misses always, a once a line, c always.
    const uint64_t n = 64;
    Kernel kernel(64);
    multiply(kernel, n);
    EXPECT_EQ(kernel.misses(), n * n * n + n * n * n / 8 + n * n);
  }
  {
    // 32 lines of b, 4 of a, 1 of c fit: b misses once a line for each i, a and c once a line.
    const uint64_t n = 32;
    Kernel kernel(64);
    multiply(kernel, n);
    EXPECT_EQ(kernel.misses(), n * n * n / 8 + 2 * n * n / 8);
  }
}

// In tiles of 8 x 8: three tiles are 24 lines. A tile of c stays while k goes through, those of a and b come anew.
TEST(Kernels, MatrixMultiplyInTiles) {
  const uint64_t n = 64, t = 8, tiles = n / t;
  Kernel kernel(64);
  for (uint64_t ii = 0; ii < n; ii += t)
    for (uint64_t jj = 0; jj < n; jj += t)
      for (uint64_t kk = 0; kk < n; kk += t)
        for (uint64_t i = ii; i < ii + t; ++i)
          for (uint64_t j = jj; j < jj + t; ++j) {
            for (uint64_t k = kk; k < kk + t; ++k) kernel.load(kA, n, i, k), kernel.load(kB, n, k, j);
            kernel.store(kC, n, i, j);
          }
  EXPECT_EQ(kernel.misses(), tiles * tiles * tiles * 2 * t + tiles * tiles * t);
}

// Four neighbours of each inner point, a row is 8 lines. With three rows in the cache every line comes once; with fewer
// than two, a row comes again in each of its three parts.
TEST(Kernels, Stencil) {
  const uint64_t n = 64, row = n / 8;
  const auto misses = [&](uint32_t lines) {
    Kernel kernel(lines);
    for (uint64_t i = 1; i + 1 < n; ++i)
      for (uint64_t j = 1; j + 1 < n; ++j) {
        kernel.load(kA, n, i - 1, j), kernel.load(kA, n, i + 1, j);
        kernel.load(kA, n, i, j - 1), kernel.load(kA, n, i, j + 1);
        kernel.store(kB, n, i, j);
      }
    return kernel.misses();
  };
  EXPECT_EQ(misses(64), n * row + (n - 2) * row);
  EXPECT_EQ(misses(16), (n - 2) * 4 * row);
}

TEST(Kernels, Transposition) {
  const uint64_t n = 128;
  Kernel plain(64), tiled(64);
  for (uint64_t i = 0; i < n; ++i)
    for (uint64_t j = 0; j < n; ++j) plain.load(kA, n, i, j), plain.store(kB, n, j, i);
  EXPECT_EQ(plain.misses(), n * n / 8 + n * n);
  for (uint64_t ii = 0; ii < n; ii += 8)
    for (uint64_t jj = 0; jj < n; jj += 8)
      for (uint64_t i = ii; i < ii + 8; ++i)
        for (uint64_t j = jj; j < jj + 8; ++j) tiled.load(kA, n, i, j), tiled.store(kB, n, j, i);
  EXPECT_EQ(tiled.misses(), 2 * n * n / 8);
}

// A ring of pointers in random order: it fits or it does not.
TEST(Kernels, PointerChase) {
  for (const uint64_t lines : {1u, 63u, 64u, 65u, 100u, 1000u}) {
    std::vector<uint64_t> ring(lines);
    std::iota(ring.begin(), ring.end(), 0);
    std::mt19937_64 random(lines);
    std::shuffle(ring.begin(), ring.end(), random);
    Kernel kernel(64);
    const uint64_t rounds = 20;
    for (uint64_t r = 0; r < rounds; ++r)
      for (const uint64_t line : ring) kernel.load(kA, 8, line, 0);
    EXPECT_EQ(kernel.misses(), lines <= 64 ? lines : rounds * lines) << lines;
  }
}

}  // namespace
}  // namespace simrun::sim

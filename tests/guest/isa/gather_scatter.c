// Gathers (AVX2, AVX-512) and scatters, masked loads and stores, compress and expand: every lane, every mask, lanes
// behind a mask that would fault.
#include <immintrin.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

static uint8_t* edge;  // the end of a page, behind which nothing is mapped

__attribute__((target("avx2"))) static void avx2(void) {
  int table[64], out[8], *at_edge = (int*)edge - 8;
  for (int i = 0; i < 64; ++i) table[i] = i * 11 + 1;
  for (int i = 0; i < 8; ++i) at_edge[i] = i;
  for (int mask = 0; mask < 256; ++mask) {
    int m[8], index[8];
    for (int i = 0; i < 8; ++i) {
      m[i] = mask >> i & 1 ? -1 : 0;
      index[i] = m[i] ? (i * 7 + mask) % 64 : 1 << 28;
    }
    const __m256i vm = _mm256_loadu_si256((void*)m), vi = _mm256_loadu_si256((void*)index);
    _mm256_storeu_si256((void*)out, _mm256_mask_i32gather_epi32(_mm256_set1_epi32(-5), table, vi, vm, 4));
    for (int i = 0; i < 8; ++i) CHECK_EQUAL(out[i], m[i] ? table[index[i]] : -5);
    const int lanes = mask ? 32 - __builtin_clz(mask) : 0;
    int* place = (int*)edge - lanes;
    _mm256_storeu_si256((void*)out, _mm256_maskload_epi32(place, vm));
    for (int i = 0; i < 8; ++i) CHECK_EQUAL(out[i], m[i] ? place[i] : 0);
    _mm256_maskstore_epi32(place, vm, _mm256_set1_epi32(mask));
    for (int i = 0; i < lanes; ++i) CHECK(!m[i] || place[i] == mask);
    for (int i = 0; i < 8; ++i) at_edge[i] = i;
  }
  double values[4] = {1, 2, 3, 4}, got[4];
  _mm256_storeu_pd(got, _mm256_i64gather_pd(values + 2, _mm256_set_epi64x(-2, -1, 0, 1), 8));
  CHECK(got[0] == 4 && got[1] == 3 && got[2] == 2 && got[3] == 1);
}

__attribute__((target("avx512f,avx512vl"))) static void avx512(void) {
  int table[256], out[16], index[16];
  for (int i = 0; i < 256; ++i) table[i] = i * 13;
  for (int mask = 0; mask < 65536; mask += 257) {
    for (int i = 0; i < 16; ++i) index[i] = mask >> i & 1 ? (i * 15 + mask) % 256 : 1 << 28;
    const __m512i vi = _mm512_loadu_si512(index);
    _mm512_storeu_si512(out, _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-5), mask, vi, table, 4));
    for (int i = 0; i < 16; ++i) CHECK_EQUAL(out[i], mask >> i & 1 ? table[index[i]] : -5);
    int scattered[256] = {0}, expected[256] = {0};
    _mm512_mask_i32scatter_epi32(scattered, mask, vi,
                                 _mm512_set_epi32(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), 4);
    for (int i = 0; i < 16; ++i)
      if (mask >> i & 1) expected[index[i]] = i + 1;
    CHECK(memcmp(scattered, expected, sizeof expected) == 0);
    int packed[16] = {0}, n = 0;
    _mm512_mask_compressstoreu_epi32(packed, mask, _mm512_set1_epi32(mask));
    while (n < 16 && packed[n] == mask && mask) ++n;
    CHECK_EQUAL(n, __builtin_popcount(mask));
    const int lanes = mask ? 32 - __builtin_clz(mask) : 0;
    int* place = (int*)edge - lanes;
    _mm512_mask_storeu_epi32(place, mask, _mm512_set1_epi32(7));
    _mm512_storeu_si512(out, _mm512_maskz_loadu_epi32(mask, place));
    for (int i = 0; i < 16; ++i) CHECK_EQUAL(out[i], mask >> i & 1 ? 7 : 0);
  }
}

int main(void) {
  skip_unless(__builtin_cpu_supports("avx2"), "avx2");
  edge = (uint8_t*)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
  CHECK(mprotect(edge, 4096, PROT_NONE) == 0);
  avx2();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) avx512();
  return finish();
}

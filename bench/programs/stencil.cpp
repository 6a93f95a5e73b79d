// OpenMP: five-point stencil on a grid of 1024 x 1024 doubles, two threads, static schedule; argument: sweeps.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  const long sweeps = argc > 1 ? std::atol(argv[1]) : 1;
  constexpr size_t kSide = 1024;
  std::vector<double> from(kSide * kSide), to(kSide * kSide);
  for (size_t i = 0; i < kSide; ++i) from[i] = to[i] = 1.0;
  for (long sweep = 0; sweep < sweeps; ++sweep) {
    const double* const in = from.data();
    double* const out = to.data();
#pragma omp parallel for schedule(static) num_threads(2)
    for (size_t y = 1; y < kSide - 1; ++y)
      for (size_t x = 1; x < kSide - 1; ++x) {
        const size_t at = y * kSide + x;
        out[at] = 0.25 * (in[at - 1] + in[at + 1] + in[at - kSide] + in[at + kSide]);
      }
    std::swap(from, to);
  }
  double sum = 0;
  for (const double v : from) sum += v;
  std::printf("%.9f\n", sum);
}

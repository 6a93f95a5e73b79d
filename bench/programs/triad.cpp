// Streaming: a[i] = b[i] + s * c[i] over three arrays of 16 MiB, larger than an L2; argument: sweeps.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  const long sweeps = argc > 1 ? std::atol(argv[1]) : 1;
  constexpr size_t kElements = size_t{16} << 20 >> 3;
  std::vector<double> a(kElements), b(kElements, 1.0), c(kElements, 2.0);
  for (long sweep = 0; sweep < sweeps; ++sweep) {
    const double scale = 1.0 / static_cast<double>(sweep + 1);
    for (size_t i = 0; i < kElements; ++i) a[i] = b[i] + scale * c[i];
    b[static_cast<size_t>(sweep) % kElements] = a[kElements / 2];
  }
  std::printf("%.6f\n", a[0] + a[kElements - 1]);
}

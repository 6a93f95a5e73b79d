// Where there is no libFuzzer: runs the kept corpus, then mutations of it for some seconds. DRIVER SECONDS SEED CORPUS...
// The input that is being tried is kept in fuzz_input_PID, and removed when it did no harm.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Input = std::vector<uint8_t>;

class Mutator {
 public:
  Mutator(uint64_t seed, const std::vector<Input>& corpus) : random_(seed), corpus_(corpus) {}

  Input next() {
    Input input = corpus_[below(corpus_.size())];
    for (uint64_t k = 1 + below(8); k != 0; --k) mutate(input);
    return input;
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }

  void mutate(Input& input) {
    if (input.empty()) input.push_back(0);
    const size_t at = below(input.size());
    const size_t length = 1 + below(std::min<size_t>(input.size() - at, 64));
    const auto place = input.begin() + static_cast<long>(at);
    switch (below(7)) {
      case 0: input[at] ^= static_cast<uint8_t>(1 << below(8)); break;
      case 1: input[at] = static_cast<uint8_t>(random_()); break;
      case 2: {  // numbers at the edges, as bytes and as parts of varints
        constexpr uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe};
        for (size_t k = 0; k < std::min<size_t>(length, 9); ++k) input[at + k] = kEdges[below(std::size(kEdges))];
        break;
      }
      case 3: input.erase(place, place + static_cast<long>(length)); break;
      case 4: {
        const Input copy(place, place + static_cast<long>(length));
        input.insert(input.begin() + static_cast<long>(below(input.size())), copy.begin(), copy.end());
        break;
      }
      case 5: input.resize(at); break;
      default: {
        const Input& other = corpus_[below(corpus_.size())];
        if (other.empty()) break;
        const size_t from = below(other.size());
        const size_t count = std::min({length, other.size() - from, input.size() - at});
        std::copy_n(other.begin() + static_cast<long>(from), count, place);
      }
    }
  }

  std::mt19937_64 random_;
  const std::vector<Input>& corpus_;
};

std::vector<Input> read_corpus(int count, char** paths) {
  std::vector<Input> corpus;
  for (int k = 0; k < count; ++k)
    for (const auto& entry : fs::recursive_directory_iterator(paths[k])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fputs("usage: DRIVER SECONDS SEED CORPUS...\n", stderr), 2;
  const std::vector<Input> corpus = read_corpus(argc - 3, argv + 3);
  if (corpus.empty()) return std::fputs("the corpus is empty\n", stderr), 2;
  for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  Mutator mutator(std::strtoull(argv[2], nullptr, 0), corpus);
  const std::string kept = "fuzz_input_" + std::to_string(getpid());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
  uint64_t inputs = 0;
  for (; std::chrono::steady_clock::now() < end; ++inputs) {
    const Input input = mutator.next();
    std::ofstream(kept, std::ios::binary).write(reinterpret_cast<const char*>(input.data()), static_cast<long>(input.size()));
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  fs::remove(kept);
  std::printf("%zu of the corpus, %llu mutated\n", corpus.size(), static_cast<unsigned long long>(inputs));
  return inputs == 0 ? 1 : 0;
}

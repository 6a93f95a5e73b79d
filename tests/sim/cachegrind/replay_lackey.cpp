// replay_lackey I1 D1 LL < TEXT: the references of Valgrind's lackey (--trace-mem=yes) through a machine like cachegrind's; each cache is
// SIZE,WAYS,LINE as cachegrind's options have it. Prints one number for each count.
//
// Cachegrind's caches know no modified lines, so stores are replayed as loads. A reference that crosses lines is one miss
// to it when it misses in both; such references are told apart here.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "sim/hierarchy.h"

namespace {

using namespace simrun::sim;

CacheShape shape_of(const char* text) {
  unsigned size = 0, ways = 0, line = 0;
  if (std::sscanf(text, "%u,%u,%u", &size, &ways, &line) != 3 || line != 64) std::exit(2);
  return {size, ways, 0};
}

MachineConfig machine_of(char** shapes) {
  MachineConfig m;
  m.name = "cachegrind";
  m.coherence = Coherence::kNone;
  m.levels.resize(2);
  m.levels[0].name = "L1", m.levels[0].split = true;
  m.levels[0].instruction = shape_of(shapes[0]), m.levels[0].data = shape_of(shapes[1]);
  m.levels[1].name = "LL", m.levels[1].unified = shape_of(shapes[2]);
  m.levels[1].inclusion = Inclusion::kNonInclusive;
  return m;
}

struct Misses {
  uint64_t level1 = 0, last = 0;
};

Misses misses_of(const Statistics& s, bool fetch) {
  const AccessCounts& level1 = s.levels[fetch ? 0 : 1].total.requests.misses;
  const AccessCounts& last = s.levels[2].total.requests.misses;
  return {fetch ? level1.fetches : level1.reads, fetch ? last.fetches : last.reads};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  Hierarchy model(machine_of(argv + 1));
  uint64_t references[2] = {}, crossing_misses = 0;
  Misses twice[2];
  for (std::string line; std::getline(std::cin, line);) {
    unsigned long long address = 0;
    unsigned bytes = 0;
    const bool fetch = line.starts_with("I  ");
    const bool data = line.size() > 3 && line[0] == ' ' && std::string("LSM").find(line[1]) != std::string::npos;
    if ((!fetch && !data) || std::sscanf(line.c_str() + 3, "%llx,%u", &address, &bytes) != 2) continue;
    ++references[!fetch];
    const bool crosses = address / 64 != (address + bytes - 1) / 64;
    const Misses before = crosses ? misses_of(model.statistics(), fetch) : Misses{};
    model.access(0, fetch ? Access::kFetch : Access::kLoad, address, bytes);
    if (!crosses) continue;
    const Misses after = misses_of(model.statistics(), fetch);
    crossing_misses += after.level1 != before.level1;
    twice[!fetch].level1 += after.level1 - before.level1 == 2;
    twice[!fetch].last += after.last - before.last == 2;
  }
  const Statistics s = model.statistics();
  for (const bool fetch : {true, false}) {
    const Misses m = misses_of(s, fetch);
    const char* const kind = fetch ? "I" : "D";
    std::printf("%s refs %llu\n%s1 misses %llu\nLL%s misses %llu\n", kind,
                static_cast<unsigned long long>(references[!fetch]), kind,
                static_cast<unsigned long long>(m.level1 - twice[!fetch].level1), fetch ? "i" : "d",
                static_cast<unsigned long long>(m.last - twice[!fetch].last));
  }
  std::printf("crossing misses %llu\n", static_cast<unsigned long long>(crossing_misses));
}

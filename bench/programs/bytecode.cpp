// An interpreter with computed gotos: one indirect jump an operation, from as many places as there are operations, in
// an order that is data. Argument: operations.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr unsigned kOperations = 16;
constexpr unsigned kLength = 1 << 14;

// Mostly short sequences that come again, as in programs, in an order without a period that a predictor could learn.
std::vector<uint8_t> program() {
  uint8_t idioms[32][6];
  uint64_t state = 7;
  const auto next = [&state](unsigned bound) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<unsigned>(state >> 33) % bound;
  };
  for (auto& idiom : idioms)
    for (uint8_t& operation : idiom) operation = static_cast<uint8_t>(next(kOperations));
  std::vector<uint8_t> code;
  while (code.size() < kLength)
    for (const uint8_t operation : idioms[next(32)]) code.push_back(operation);
  code.resize(kLength);
  return code;
}

uint64_t interpret(const std::vector<uint8_t>& code, uint64_t operations) {
  static const void* const places[kOperations] = {&&add,  &&sub, &&mul,  &&shl,  &&shr,   &&mix,  &&load, &&store,
                                                  &&swap, &&dup, &&skip, &&test, &&count, &&flip, &&fold, &&turn};
  uint64_t a = 1, b = 2, cells[64] = {};
  unsigned at = 0;
#define NEXT                                                \
  do {                                                      \
    if (operations-- == 0) return a ^ b ^ cells[b & 63];    \
    at = (at + 1) & (kLength - 1);                          \
    goto* places[code[at]];                                 \
  } while (false)
  NEXT;
add: a += b; NEXT;
sub: a -= b >> 1; NEXT;
mul: a *= 0x9e3779b97f4a7c15; NEXT;
shl: a = a << 5 | a >> 59; NEXT;
shr: b = b >> 9 | b << 55; NEXT;
mix: b ^= a; NEXT;
load: a += cells[b & 63]; NEXT;
store: cells[a & 63] = b; NEXT;
swap: { const uint64_t c = a; a = b; b = c; } NEXT;
dup: b = a + 1; NEXT;
skip: at += a & 1; NEXT;
test: if (a > b) ++a; NEXT;
count: ++cells[1]; NEXT;
flip: a = ~a; NEXT;
fold: a ^= a >> 29; NEXT;
turn: b = b << 1 | b >> 63; NEXT;
#undef NEXT
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t operations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  std::printf("%llu\n", static_cast<unsigned long long>(interpret(program(), operations)));
}

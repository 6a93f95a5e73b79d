// The frame of a differential program: runs each generated sequence from known registers and memory, and prints a hash
// of what it left. No C library: what is compared is the sequences. Usage: PROGRAM [FIRST [COUNT [dump]]].
#include <stdint.h>

enum { kArenaBytes = 2048, kStackBytes = 1024, kVectors = VECTORS, kVectorBytes = VECTOR_BYTES, kRounds = 2 };

// Read and written by trampoline.S, which knows these layouts.
struct State {
  uint64_t general[16];  // rax rcx rdx rbx rsp rbp rsi rdi r8..r15
  uint64_t flags, control;
  uint64_t masks[8];
  uint8_t vectors[32][64];
};
struct State state_in __attribute__((aligned(64))), state_out __attribute__((aligned(64)));
uint8_t arena[kArenaBytes] __attribute__((aligned(64))), scratch_stack[kStackBytes] __attribute__((aligned(64)));
extern void (*const sequences[])(void);
extern const uint64_t sequence_count;
void run_sequence(void (*sequence)(void));

static char text[1 << 16];
static unsigned text_length;

static long call_kernel(long number, long a, long b, long c) {
  long result;
  asm volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

static void flush_text(void) {
  call_kernel(1, 1, (long)text, text_length);
  text_length = 0;
}

static void put(char c) {
  text[text_length++] = c;
  if (text_length == sizeof text) flush_text();
}

static void put_text(const char* s) {
  while (*s) put(*s++);
}

static void put_number(uint64_t n, int digits) {
  for (int shift = 4 * digits - 4; shift >= 0; shift -= 4) put("0123456789abcdef"[n >> shift & 15]);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdull;
  return hash ^ hash >> 32;
}

static uint64_t hash_of(const void* data, unsigned bytes, uint64_t hash) {
  const uint64_t* words = data;
  for (unsigned i = 0; i < bytes / 8; ++i) hash = mix(hash, words[i]);
  return hash;
}

static uint64_t random_state;
static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

// Half of the values are such as arithmetic likes to stumble over.
static uint64_t next_value(void) {
  const uint64_t r = next_random(), kind = r >> 58;
  if (kind < 32) return r * 0x2545f4914f6cdd1dull;
  if (kind < 48) return (uint64_t)(int64_t)(int8_t)r;
  if (kind < 54) return 1ull << (r & 63);
  if (kind < 58) return (1ull << (r & 63)) - 1;
  return kind & 1 ? 0 : ~0ull;
}

static void prepare(uint64_t index, int round) {
  random_state = (index + 1) * 0x9e3779b97f4a7c15ull + (uint64_t)round;
  for (int i = 0; i < 3; ++i) next_random();
  for (int i = 0; i < 16; ++i) state_in.general[i] = next_value();
  state_in.general[4] = (uint64_t)(scratch_stack + kStackBytes / 2);
  state_in.flags = 0x202 | (next_random() & 0x8d5);
  state_in.control = 0x1f80 | (next_random() & 0x6000);
  for (int i = 0; i < 8; ++i) state_in.masks[i] = next_value();
  for (int i = 0; i < kVectors; ++i)
    for (int j = 0; j < kVectorBytes / 8; ++j) ((uint64_t*)state_in.vectors[i])[j] = next_value();
  for (int i = 0; i < kArenaBytes / 8; ++i) ((uint64_t*)arena)[i] = next_value();
  for (int i = 0; i < kStackBytes / 8; ++i) ((uint64_t*)scratch_stack)[i] = (uint64_t)i * 0x0101010101010101ull;
}

static void dump(void) {
  static const char names[] = "rax rcx rdx rbx rsp rbp rsi rdi r8  r9  r10 r11 r12 r13 r14 r15 flagmxcs";
  for (int i = 0; i < 18; ++i) {
    for (int j = 0; j < 4; ++j) put(names[4 * i + j]);
    put(' ');
    put_number(((uint64_t*)&state_out)[i], 16);
    put('\n');
  }
  const struct { const char* name; const uint8_t* at; int rows, stride, bytes; } parts[] = {
      {"mask", (uint8_t*)state_out.masks, 8, 8, 8}, {"vector", state_out.vectors[0], kVectors, 64, kVectorBytes},
      {"arena", arena, kArenaBytes / 32, 32, 32}, {"stack", scratch_stack, kStackBytes / 32, 32, 32}};
  for (int p = 0; p < 4; ++p)
    for (int row = 0; row < parts[p].rows; ++row) {
      put_text(parts[p].name);
      put(' ');
      put_number((uint64_t)row, 3);
      for (int b = 0; b < parts[p].bytes; ++b) {
        if (b % 8 == 0) put(' ');
        put_number(parts[p].at[row * parts[p].stride + b], 2);
      }
      put('\n');
    }
}

static void run(uint64_t index, int with_dump) {
  uint64_t hash = index;
  for (int round = 0; round < kRounds; ++round) {
    prepare(index, round);
    run_sequence(sequences[index]);
    hash = hash_of(&state_out, sizeof state_out, hash);
    hash = hash_of(arena, sizeof arena, hash);
    hash = hash_of(scratch_stack, sizeof scratch_stack, hash);
    if (with_dump) dump();
  }
  put_number(index, 6);
  put(' ');
  put_number(hash, 16);
  put('\n');
}

static uint64_t number(const char* s) {
  uint64_t n = 0;
  while (*s) n = 10 * n + (uint64_t)(*s++ - '0');
  return n;
}

__attribute__((used)) void start(const uint64_t* stack) {
  const uint64_t arguments = stack[0];
  const char* const* argument = (const char* const*)(stack + 1);
  const uint64_t first = arguments > 1 ? number(argument[1]) : 0;
  const uint64_t count = arguments > 2 ? number(argument[2]) : sequence_count - first;
  call_kernel(158, 0x1002, FS_BASE, 0);  // arch_prctl(ARCH_SET_FS); never dereferenced but by sequences
  call_kernel(158, 0x1001, GS_BASE, 0);
  for (uint64_t i = first; i < first + count && i < sequence_count; ++i) {
    run(i, arguments > 3);
    flush_text();  // one by one: the last line tells which one ended the program
  }
  call_kernel(231, 0, 0, 0);
}
asm(".globl _start; _start: mov %rsp, %rdi; and $-16, %rsp; call start; ud2");

// Does two kinds of work, and ends by a fault.
static volatile unsigned long sum;
static volatile unsigned char table[1 << 18];

int main(void) {
  for (int round = 0; round < 8; ++round) {
    for (unsigned long k = 0; k < 100000; ++k) sum += k;
    for (unsigned k = 0; k < 100000; ++k) table[k * 64 & ((1 << 18) - 1)] += 1;
  }
  *(volatile int*)8 = 1;
}

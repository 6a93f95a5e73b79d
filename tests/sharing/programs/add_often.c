/* A library for freed_blocks. */
void add_often(volatile long* counter, long rounds) {
  for (long i = 0; i < rounds; ++i) ++*counter; /* ADD */
}

/* Marks a place in a program, so that `simrun record --from marker:1 --to marker:2` finds it: copy this header, or use the
   SSC marks of other simulators, which are the same instructions. Outside simrun a marker does nothing, in two instructions.
   C and C++; GCC and Clang. */
#ifndef SIMRUN_H
#define SIMRUN_H

/* `number`: a constant from 0 to 4294967295. */
#define SIMRUN_MARKER(number) \
  __asm__ volatile("movl %0, %%ebx\n\t.byte 0x64, 0x67, 0x90" : : "i"(number) : "ebx", "memory")

#endif

// build: -nostdlib -static-pie
// A position-independent program without a C library and without relocations.
#include "tests/guest/guest_asm.h"

        .globl _start
        .hidden _start
_start: lea     _start(%rip), %rax
        mov     number(%rip), %ecx
        cmp     $42, %ecx
        require_equal 2
        incl    number(%rip)
        cmpl    $43, number(%rip)
        require_equal 3
        finish_well
        .data
number: .long   42

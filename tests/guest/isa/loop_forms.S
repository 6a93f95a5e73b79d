// build: -nostdlib -static -no-pie
// loop, loope, loopne, jrcxz, jecxz (with the address-size prefix they count in ecx), forward, backward and onto the
// next instruction.
#include "tests/guest/guest_asm.h"

        .globl _start
_start: mov     $200, %ebp
again:  xor     %eax, %eax
        mov     $10, %ecx
1:      inc     %eax
        loop    1b
        cmp     $10, %eax
        require_equal 2
        mov     $0x100000003, %rcx              // loop with a 32-bit count: three times, and rcx becomes 0
        xor     %eax, %eax
1:      inc     %eax
        addr32 loop 1b
        cmp     $3, %eax
        require_equal 3
        test    %rcx, %rcx
        require_equal 4
        mov     $10, %ecx
        xor     %eax, %eax
1:      inc     %eax
        cmp     $4, %eax
        loopne  1b
        cmp     $4, %eax
        require_equal 5
        cmp     $6, %ecx
        require_equal 6
        mov     $10, %ecx
        xor     %eax, %eax
1:      inc     %eax
        test    $8, %al
        loope   1b
        cmp     $8, %eax
        require_equal 7
        xor     %ecx, %ecx
        jrcxz   2f
        ud2
2:      mov     $0x100000000, %rcx
        jrcxz   wrong
        jecxz   3f
        ud2
3:      mov     $1, %ecx
        jecxz   wrong
        stc
        loop    wrong                           // falls through and keeps the carry
        jnc     wrong
        jrcxz   4f                              // onto the next instruction, taken
4:      inc     %ecx
        jrcxz   5f                              // and not taken
5:      loop    5b
        test    %ecx, %ecx
        require_equal 8
        jmp     7f
6:      jmp     8f
7:      jrcxz   6b                              // backward, taken
        ud2
8:      dec     %ebp
        jnz     again
        finish_well
wrong:  mov     $1, %edi
        mov     $231, %eax
        syscall

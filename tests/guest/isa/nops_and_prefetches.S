// build: -nostdlib -static -no-pie
// Instructions without effect: nops of every length, endbr64, pause, prefetches of addresses that are not mapped,
// fences, prefixes that mean nothing, and flushes of lines of our own.
#include "tests/guest/guest_asm.h"

        .globl _start
_start: mov     $200, %ebp
again:  nop
        xchg    %ax, %ax
        .byte   0x0f, 0x1f, 0x00
        .byte   0x0f, 0x1f, 0x40, 0x00
        .byte   0x0f, 0x1f, 0x44, 0x00, 0x00
        .byte   0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00
        .byte   0x0f, 0x1f, 0x80, 0, 0, 0, 0
        .byte   0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0
        .byte   0x66, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0
        .byte   0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0
        .byte   0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0, 0x90
        endbr64
        pause
        lfence
        mfence
        sfence
        prefetchnta 0x10
        prefetcht0 (%rbp)
        prefetcht1 line(%rip)
        prefetcht2 0x123456(,%rbp,8)
        prefetchw line(%rip)
        clflush line(%rip)
        .byte   0xf3, 0xc3 - 0x33               // repz nop is pause
        .byte   0x3e, 0xeb, 0x00                // ds jmp to the next instruction
        .byte   0x2e, 0x75, 0x00                // branch hint
        bnd     jmp 1f
        ud2
1:      call    2f
        jmp     3f
2:      .byte   0xf3, 0xc3                      // rep ret
3:      notrack jmp *where(%rip)
        ud2
4:      movl    line(%rip), %eax
        cmp     $7, %eax
        require_equal 2
        dec     %ebp
        jnz     again
        finish_well
        .data
        .balign 64
line:   .long   7
        .balign 8
where:  .quad   4b

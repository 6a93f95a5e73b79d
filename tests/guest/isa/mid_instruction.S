// build: -nostdlib -static -no-pie
// Jumps into the middle of an instruction: the same bytes are two programs.
#include "tests/guest/guest_asm.h"

        .globl _start
_start: mov     $300, %ebp
again:  xor     %eax, %eax
        mov     %ebp, %ecx
        and     $1, %ecx
        lea     outer(%rip), %rdx
        lea     (%rdx,%rcx,2), %rdx             // outer, or two bytes into it
        jmp     *%rdx
outer:  .byte   0x48, 0xbb                      // movabs $imm64, %rbx
inner:  .byte   0xff, 0xc0                      // inc %eax
        .byte   0xeb, inner_end - . - 1         // jmp inner_end
        .byte   0x90, 0x90, 0x90, 0x90
        add     $2, %eax
inner_end:
        test    %ecx, %ecx
        jnz     odd
        cmp     $2, %eax
        jne     wrong
        mov     $0x90909090, %edx
        shr     $32, %rbx
        cmp     %rdx, %rbx
        jne     wrong
        jmp     next
odd:    cmp     $1, %eax
        jne     wrong
next:   // Over a lock prefix or onto it.
        movl    $0, cell(%rip)
        mov     $1, %eax
        test    %ecx, %ecx
        jz      prefixed + 1
prefixed:
        lock    addl %eax, cell(%rip)
        cmpl    $1, cell(%rip)
        jne     wrong
        // Into the immediate of a test instruction: b0 05 is mov $5, %al.
        mov     $7, %eax
        test    %ecx, %ecx
        jz      1f
        jmp     tested + 1
1:
tested: .byte   0xa9, 0xb0, 0x05, 0x90, 0x90    // test $0x909005b0, %eax
        test    %ecx, %ecx
        jnz     2f
        mov     $7, %edx
        jmp     3f
2:      mov     $5, %edx
3:      cmp     %edx, %eax
        jne     wrong
        dec     %ebp
        jnz     again
        finish_well
wrong:  mov     $1, %edi
        mov     $231, %eax
        syscall
        .data
cell:   .long   0

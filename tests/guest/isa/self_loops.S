// build: -nostdlib -static -no-pie
// Loops of one to five instructions onto themselves with all sixteen registers and the flags live: each exit of such a
// superblock goes to its own entry.
#include "tests/guest/guest_asm.h"

        .globl _start
_start: mov     $200, %r15d
again:  mov     $1, %rax
        mov     $2, %rbx
        mov     $3, %rdx
        mov     $5, %rsi
        mov     $6, %rdi
        mov     $7, %rbp
        mov     $8, %r8
        mov     $9, %r9
        mov     $10, %r10
        mov     $11, %r11
        mov     $12, %r12
        mov     $13, %r13
        mov     $14, %r14
        mov     $100, %ecx
1:      loop    1b                              // one instruction
        mov     $100, %ecx
1:      dec     %ecx                            // two
        jnz     1b
        mov     $100, %ecx
        stc
1:      adc     %rbx, %rax                      // three, the carry is live round the loop
        dec     %ecx
        jnz     1b
        mov     $100, %ecx
1:      add     %rax, %rbx                      // four, memory below the stack pointer
        mov     %rbx, -8(%rsp)
        xor     -8(%rsp), %rsi
        loop    1b
        mov     $50, %ecx
1:      lea     (%rdx,%rbp), %rdx               // five, of which two are conditional
        cmp     $100, %rdx
        jg      2f
        dec     %ecx
        jnz     1b
2:      mov     $100, %ecx
1:      sub     $1, %ecx
        jns     1b
        add     %rbx, %rax
        add     %rcx, %rax
        add     %rdx, %rax
        add     %rsi, %rax
        add     %rdi, %rax
        add     %rbp, %rax
        add     %r8, %rax
        add     %r9, %rax
        add     %r10, %rax
        add     %r11, %rax
        add     %r12, %rax
        add     %r13, %rax
        add     %r14, %rax
        mov     first(%rip), %rcx
        test    %rcx, %rcx
        jnz     compare
        mov     %rax, first(%rip)
        mov     %rax, %rcx
compare:
        cmp     %rcx, %rax
        jne     wrong
        dec     %r15d
        jnz     again
        // rax after the third loop: 1 + 100 * 2 + 1 = 202; rbx = 2 + 100 * 202 = 20202; rdx = 3 + 14 * 7 = 101.
        cmp     $101, %rdx
        jne     wrong
        cmp     $20202, %rbx
        jne     wrong
        finish_well
wrong:  mov     $1, %edi
        mov     $231, %eax
        syscall
        .data
        .balign 8
first:  .quad   0

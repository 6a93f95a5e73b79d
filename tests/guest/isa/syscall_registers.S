// build: -nostdlib -static -no-pie
// A system call leaves every register as it was but rax (result), rcx (address of the next instruction) and r11 (the
// flags). Manual volume 2, SYSCALL; arch/x86/entry/entry_64.S.
#include "tests/guest/guest_asm.h"

        .macro same register, value
        cmp     $\value, \register
        jne     wrong
        .endm

        .globl _start
_start: mov     $300, %r12d
again:  mov     $0x1b, %ebx
        mov     $0xd1, %edi
        mov     $0xd2, %esi
        mov     $0xd3, %edx
        mov     $0xd4, %ebp
        mov     $0xd8, %r8d
        mov     $0xd9, %r9d
        mov     $0xda, %r10d
        mov     $0xdd, %r13d
        mov     $0xde, %r14d
        mov     $0xdf, %r15d
        mov     $39, %eax               // getpid
        stc
        pushfq
        pop     %r11
        mov     %r11, flags(%rip)
        syscall
here:   jnc     wrong                   // flags are restored from r11, which the instruction itself set
        cmp     flags(%rip), %r11
        jne     wrong
        lea     here(%rip), %r11
        cmp     %r11, %rcx
        jne     wrong
        test    %eax, %eax
        jle     wrong
        same    %rbx, 0x1b
        same    %rdi, 0xd1
        same    %rsi, 0xd2
        same    %rdx, 0xd3
        same    %rbp, 0xd4
        same    %r8, 0xd8
        same    %r9, 0xd9
        same    %r10, 0xda
        same    %r13, 0xdd
        same    %r14, 0xde
        same    %r15, 0xdf
        mov     $100000, %eax           // no such call: -ENOSYS
        std
        syscall
        pushfq
        cld
        pop     %rdx
        test    $0x400, %edx
        jz      wrong
        cmp     $-38, %rax
        jne     wrong
        dec     %r12d
        jnz     again
        finish_well
wrong:  mov     $1, %edi
        mov     $231, %eax
        syscall
        .data
        .balign 8
flags:  .quad   0

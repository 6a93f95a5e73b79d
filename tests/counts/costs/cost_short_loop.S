// build: -nostdlib -static -no-pie
// Loops of one superblock: a sum of 500 numbers, 4000 times for each argument. 4 instructions and one load in each pass.
        .globl _start
_start: mov     (%rsp), %rbx
        dec     %rbx
        imul    $4000, %rbx, %rbx
again:  lea     numbers(%rip), %rsi
        lea     4000(%rsi), %rdi
        xor     %eax, %eax
pass:   add     (%rsi), %rax
        add     $8, %rsi
        cmp     %rdi, %rsi
        jne     pass
        dec     %rbx
        jnz     again
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .section .note.GNU-stack,"",@progbits
        .bss
        .balign 64
numbers: .skip  4000

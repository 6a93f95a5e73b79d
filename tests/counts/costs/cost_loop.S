// build: -nostdlib -static -no-pie
// Loads and stores as compilers emit them, a direct call, a conditional branch that goes both ways; 1000 turns for each
// argument. A turn is 19 or 20 instructions with 6 or 7 loads and 5 stores (return addresses included).
        .globl _start
_start: mov     (%rsp), %rbx
        dec     %rbx
        imul    $1000, %rbx, %rbx
        lea     table(%rip), %rsi
        lea     other(%rip), %rdi
        xor     %ecx, %ecx
loop:   mov     (%rsi,%rcx,8), %rax
        add     8(%rsi,%rcx,8), %rax
        mov     %rax, (%rdi)
        mov     16(%rdi), %rdx
        add     %rdx, 24(%rdi)
        push    %rax
        call    mix
        pop     %rdx
        xor     %rdx, %rax
        test    $1, %bl
        jz      even
        mov     (%rsi), %r8
even:   mov     %rax, 32(%rdi)
        inc     %ecx
        and     $63, %ecx
        dec     %rbx
        jnz     loop
        mov     $231, %eax
        xor     %edi, %edi
        syscall
mix:    rol     $7, %rax
        ret
        .section .note.GNU-stack,"",@progbits
        .bss
        .balign 64
table:  .skip   1024
other:  .skip   64

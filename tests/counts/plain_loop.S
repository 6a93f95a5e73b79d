// build: -nostdlib -static -no-pie
// The program of docs/instructions.md. 2 + 1000 * 12 + 4 + 4 + 3 instructions.
// lackey: locked=1000
// counts: instructions=12013 loads=6001 stores=4513 prefetches=1 flushes=0 string_iterations=512 syscalls=1
        .globl _start
_start: lea     table(%rip), %rsi
        mov     $1000, %ecx
loop:   mov     (%rsi), %rax
        add     %rax, 8(%rsi)
        push    %rax
        call    twice
        pop     %rdx
        lock    xadd %rax, 16(%rsi)
        test    %ecx, %ecx
        cmovz   24(%rsi), %rax
        dec     %ecx
        jnz     loop
        lea     table(%rip), %rdi
        mov     $512, %ecx
        xor     %eax, %eax
        rep     stosq
        movdqu  table(%rip), %xmm0
        movdqu  %xmm0, 32+table(%rip)
        prefetcht0 table(%rip)
        nop
        mov     $231, %eax
        xor     %edi, %edi
        syscall
twice:  add     %rax, %rax
        ret
        .bss
        .balign 64
table:  .space  8192

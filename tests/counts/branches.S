// build: -nostdlib -static -no-pie
// Side exits of superblocks: what is behind a taken branch must not be counted. For i = 300 ... 1: the load behind
// `jnz` when i is a multiple of 4 (75 times), the store behind `jc` when bit 0 is set (150 times), an indirect jump
// that skips one or two stores (150 each). Per turn 14 instructions, and 1 more when i % 4 == 0, 2 more when i is odd,
// 2 (even) or 1 (odd) behind the indirect jump: 300 * 14 + 75 + 300 + 300 + 150, and 1 before and 3 behind the loop.
// counts: instructions=5029 loads=375 stores=600 prefetches=0 flushes=0 string_iterations=0 syscalls=1
        .globl _start
_start: mov     $300, %ebx              // 1
turn:   test    $3, %bl                 // 1
        jnz     1f                      // 2
        mov     cell(%rip), %rax        // + 75 loads
1:      mov     %ebx, %eax              // 3
        shr     $1, %eax                // 4: the carry is bit 0
        jnc     2f                      // 5
        mov     %rax, cell(%rip)        // + 150 stores
        nop
2:      mov     %ebx, %ecx              // 6
        and     $1, %ecx                // 7
        lea     targets(%rip), %rdx     // 8
        jmp     *(%rdx,%rcx,8)          // 9: 300 loads
even:   mov     %rax, cell(%rip)        // + 150 stores
odd:    mov     %rax, cell(%rip)        // + 300 stores
        cmp     $1000, %ebx             // 10
        jg      never                   // 11
        jmp     3f                      // 12
never:  mov     cell(%rip), %rax
        mov     cell(%rip), %rax
3:      dec     %ebx                    // 13
        jnz     turn                    // 14
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .data
        .balign 8
targets: .quad  even, odd
cell:   .quad   0

// build: -nostdlib -static -no-pie
// Implicit stack operands, 100 turns of 20 instructions. Loads: push of memory, pop, pop to memory, pop, popf, ret,
// indirect call by memory, ret imm, leave. Stores: each push, pushf, call, enter, and the pop to memory.
// counts: instructions=2004 loads=900 stores=900 prefetches=0 flushes=0 string_iterations=0 syscalls=1
        .globl _start
_start: mov     $100, %ebx              // 1
turn:   push    %rax                    // S
        pushq   cell(%rip)              // L S
        pushq   $5                      // S
        pop     %rcx                    // L
        popq    cell(%rip)              // L S
        pop     %rcx                    // L
        pushfq                          // S
        popfq                           // L
        call    callee                  // S
        push    %rax                    // S
        call    *where(%rip)            // L S
        enter   $16, $0                 // S
        nop
        leave                           // L
        xor     %eax, %eax
        dec     %ebx
        jnz     turn                    // 17
        mov     $231, %eax
        xor     %edi, %edi
        syscall                         // 3
        nop
callee: ret                             // L: 18
pops:   nop                             // 19
        ret     $8                      // L: 20
        .data
        .balign 8
cell:   .quad   0
where:  .quad   pops

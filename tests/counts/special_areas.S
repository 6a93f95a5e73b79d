// build: -nostdlib -static -no-pie
// Big operands are one reference each: fxsave and fxrstor 512 bytes, x87 environment; flushes are counted apart; lea,
// nop with an operand and rdtsc reference nothing; xlat, moffs and a bit offset in a register one load; in a loop of 20
// turns, 20 instructions.
// counts: instructions=405 loads=140 stores=80 prefetches=20 flushes=40 string_iterations=0 syscalls=1
        .globl _start
_start: mov     $20, %esi
        lea     area(%rip), %rbx
turn:   fxsave  (%rbx)
        fxrstor (%rbx)                  // L
        fldl    cell(%rip)              // L
        fstpt   512(%rbx)               // S
        fnstenv 600(%rbx)               // S (also masks all exceptions)
        lea     cell(%rip), %rdx
        nopl    (%rdx)
        rdtsc
        xlat                            // L
        movabs  area, %rax              // L
        mov     $77, %edi
        bt      %rdi, cell(%rip)        // L: beyond the operand
        ldmxcsr mxcsr(%rip)             // L
        stmxcsr 700(%rbx)               // S
        clflush (%rbx)
        clflush 64(%rbx)
        prefetchw (%rbx)
        cmpl    $0, cell(%rip)          // L
        dec     %esi
        jnz     turn
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .data
        .balign 64
area:   .space  1024
cell:   .quad   0, 0, 0
mxcsr:  .long   0x1f80

// build: -nostdlib -static -no-pie
// A fault that a handler repairs: the instruction counts once, when it retires; a faulting one that the handler steps
// over, not at all. The handler runs 2 times, 4 instructions with 2 loads and 2 stores (its return among the loads),
// the restorer 2: 11 + 2 * 6. The kernel's own writes of the signal frame are not the program's references. ud2 never
// retires.
// counts: instructions=23 loads=4 stores=5 prefetches=0 flushes=0 string_iterations=0 signals=2
        .globl _start
_start: mov     $13, %eax               // rt_sigaction(SIGILL, &action, none, 8)
        mov     $4, %edi
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall                         // 6
        ud2
        mov     $1, %ebx
        ud2
        mov     %ebx, cell(%rip)        // 8, one store
        mov     $231, %eax
        xor     %edi, %edi
        syscall                         // 11
handler:
        addq    $2, 168(%rdx)           // REG_RIP of the context: a load and a store
        mov     %edi, cell(%rip)
        nop
        ret                             // 4, one load
restorer:
        mov     $15, %eax
        syscall                         // 2
        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0        // SA_SIGINFO | SA_RESTORER
cell:   .quad   0

// build: -nostdlib -static -no-pie
// A load that faults amid a block: what comes behind it, up to the conditional jump, is counted ahead in count mode. The
// handler steps over it: it retires never.
// counts: instructions=16 loads=2 stores=1 prefetches=0 flushes=0 string_iterations=0 signals=1
        .globl _start
_start: mov     $13, %eax               // rt_sigaction(SIGSEGV, &action, none, 8)
        mov     $11, %edi
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall                         // 6
        xor     %ebx, %ebx
        mov     (%rbx), %ecx            // faults
        test    %ebx, %ebx
        jnz     _start                  // 9
        mov     $231, %eax
        xor     %edi, %edi
        syscall                         // 12
handler:
        addq    $2, 168(%rdx)           // REG_RIP of the context: a load and a store
        ret                             // 2, one load
restorer:
        mov     $15, %eax
        syscall                         // 2
        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0        // SA_SIGINFO | SA_RESTORER

// build: -nostdlib -static -no-pie
// A program that steps itself: in each pass a popf sets the trap flag, and three signals come, behind pushfq, andl and the popf that clears it.
// counts: instructions=17010 loads=7000 stores=4000 prefetches=0 flushes=0 string_iterations=0 signals=3000
        .globl _start
_start: mov     $13, %eax               // rt_sigaction(SIGTRAP, &action, none, 8)
        mov     $5, %edi
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall
        mov     $1000, %r12d            // 7
1:      pushfq                          // 1 store
        orl     $0x100, (%rsp)          // 1 load, 1 store
        popfq                           // 1 load
        pushfq                          // 1 store
        andl    $~0x100, (%rsp)         // 1 load, 1 store
        popfq                           // 1 load
        dec     %r12d
        jnz     1b                      // 1000 * 8
        mov     $231, %eax
        xor     %edi, %edi
        syscall                         // 3
handler:
        ret                             // 3000 * 1, 1 load
restore:
        mov     $15, %eax
        syscall                         // 3000 * 2
        .data
action: .quad   handler, 0x04000000, restore, 0     // SA_RESTORER
        .section .note.GNU-stack,"",@progbits

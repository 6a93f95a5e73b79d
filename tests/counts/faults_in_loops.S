// build: -nostdlib -static -no-pie
// Loops of one superblock, of which several passes may be translated as one: in each of the first ten a load faults, which the handler
// steps over; in each of the first ten an exit in the middle is taken.
// counts: instructions=557 loads=165 stores=10 prefetches=0 flushes=0 string_iterations=0 signals=10
        .globl _start
_start: mov     $13, %eax               // rt_sigaction(SIGSEGV, &action, none, 8)
        mov     $11, %edi
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall
        lea     pointers(%rip), %rsi
        mov     $55, %ebx               // 8
1:      mov     (%rsi), %rax
        mov     (%rax), %ecx            // faults 10 times
        add     $8, %rsi
        dec     %ebx
        jnz     1b                      // 55 * 5 - 10
        mov     $1, %ebp                // 1
3:      mov     %ebp, %ebx
1:      dec     %ebx
        jz      2f
        cmpl    $0, one(%rip)
        jne     1b                      // 4 for each pass but the last, which is 2
2:      inc     %ebp
        cmp     $11, %ebp
        jne     3b                      // 10 * 4
        mov     $231, %eax
        xor     %edi, %edi
        syscall                         // 3
handler:
        addq    $2, 168(%rdx)           // REG_RIP of the context: a load and a store
        ret                             // 2, one load
restorer:
        mov     $15, %eax
        syscall                         // 2
        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0        // SA_SIGINFO | SA_RESTORER
one:    .quad   1
pointers:
        .irp    good, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
        .rept   \good
        .quad   one
        .endr
        .quad   0
        .endr

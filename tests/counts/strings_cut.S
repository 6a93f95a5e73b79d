// build: -nostdlib -static -no-pie
// String instructions that a fault interrupts, which a handler repairs: an instruction each, its references once, whether they were made
// before the fault or behind it. The kernel's own writes of frames are not the program's. Iterations: stosb 100 + 200, backward movsq 10 + 10, lodsw with addresses of 32 bits 5 + 3, cmpsb 4 + 12,
// one that faults at once 7: 351. Loads: 20 + 8 + 32, the five returns; stores: 300 + 20 + 7.
// counts: instructions=94 loads=65 stores=327 prefetches=0 flushes=0 string_iterations=351 signals=5 syscalls=12
        .macro  protect from
        mov     $10, %eax               // mprotect
        mov     $\from, %edi
        mov     $4096, %esi
        xor     %edx, %edx
        syscall                         // 5
        .endm
        .globl _start
_start: mov     $13, %eax               // rt_sigaction(SIGSEGV, &action, none, 8)
        mov     $11, %edi
        mov     $action, %esi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall                         // 6
        protect pages+8192
        mov     $pages+8192-100, %edi
        mov     $300, %ecx
        rep     stosb                   // 14
        protect pages
        mov     $pages+4096+72, %esi
        mov     $pages+4096+2000, %edi
        mov     $20, %ecx
        std
        rep     movsq
        cld                             // 25
        protect pages+8192
        mov     $pages+8192-10, %esi
        bts     $40, %rsi
        mov     $8, %ecx
        addr32  rep lodsw               // 34
        protect pages+8192
        mov     $pages+8192-16, %esi
        mov     $pages+8192-4, %edi
        mov     $16, %ecx
        repe    cmpsb                   // 43
        protect pages+8192
        mov     $pages+8192, %edi
        mov     $7, %ecx
        rep     stosb                   // 51
        mov     $231, %eax
        xor     %edi, %edi
        syscall                         // 54
handler:
        mov     $10, %eax               // all pages again
        mov     $pages, %edi
        mov     $12288, %esi
        mov     $3, %edx
        syscall
        ret                             // 6, one load
restorer:
        mov     $15, %eax
        syscall                         // 2
        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0        // SA_SIGINFO | SA_RESTORER
        .bss
        .balign 4096
pages:  .space  12288

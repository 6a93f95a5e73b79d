// Repeated string instructions: 1000 rounds of 219 bytes, and of 50 with 32-bit addresses, which are not counted. Then 8192 bytes
// that a fault interrupts in their middle.
        .set    kRounds, 1000
        .globl  _start
_start: mov     $kRounds, %ebx
1:      lea     buffer(%rip), %rdi
        mov     $100, %ecx
        xor     %eax, %eax
        rep stosb
        lea     buffer(%rip), %rsi
        lea     other(%rip), %rdi
        mov     $10, %ecx
        rep movsq
        lea     text(%rip), %rdi                // the fifth
        mov     $64, %ecx
        mov     $'x', %eax
        repne scasb
        lea     text(%rip), %rsi                // they differ in the third
        lea     differs(%rip), %rdi
        mov     $16, %ecx
        repe cmpsw
        std
        lea     buffer + 64(%rip), %rdi
        mov     $7, %ecx
        rep stosl
        cld
        xor     %ecx, %ecx
        rep stosb
        lea     buffer(%rip), %edi
        mov     $50, %ecx
        addr32 rep stosb
        dec     %ebx
        jnz     1b

        mov     $13, %eax                       // rt_sigaction(SIGSEGV, &action, 0, 8)
        mov     $11, %edi
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall
        xor     %edx, %edx                      // nothing
        call    protect
        lea     pages(%rip), %rdi
        mov     $8192, %ecx
        rep stosb
        mov     $231, %eax                      // exit_group
        xor     %edi, %edi
        syscall

handler:
        mov     $3, %edx                        // read and write
// The second page: mprotect(pages + 4096, 4096, rdx)
protect:
        mov     $10, %eax
        lea     pages + 4096(%rip), %rdi
        mov     $4096, %esi
        syscall
        ret
restorer:
        mov     $15, %eax
        syscall

        .data
        .balign 8
action: .quad   handler, 0x04000000, restorer, 0    // SA_RESTORER
text:   .ascii  "abcdxfghijklmnop"
        .zero   64
differs: .ascii "abcdyfghijklmnop"
        .zero   64
        .bss
buffer: .zero   256
other:  .zero   256
        .balign 4096
pages:  .zero   8192

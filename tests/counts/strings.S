// build: -nostdlib -static -no-pie
// String instructions: one instruction each, one reference per iteration and operand, none for a count of zero.
// Iterations: movsb 100, stosq 7, lodsw 5, scasb until found 11, cmpsb until different 11, backward movsq 9, zero count
// 0: 143. Loads: 100 + 5 + 11 + 22 + 9, and one each of the single lodsb, movsd, cmpsb (2), scasq. Stores: 100 + 7 + 9,
// the mov, single stosb, movsd.
// counts: instructions=46 loads=152 stores=119 prefetches=0 flushes=0 string_iterations=143 syscalls=1
        .globl _start
_start: lea     buffer(%rip), %rsi              // 3
        lea     buffer+1000(%rip), %rdi
        mov     $100, %ecx
        rep     movsb                           // 4
        mov     $7, %ecx
        rep     stosq                           // 6
        lea     buffer(%rip), %rsi
        mov     $5, %ecx
        rep     lodsw                           // 9
        movb    $1, buffer+2010(%rip)           // 10: found as the 11th
        lea     buffer+2000(%rip), %rdi
        mov     $1, %eax
        mov     $100, %ecx
        repne   scasb                           // 14
        lea     buffer+2000(%rip), %rdi
        lea     buffer+1990(%rip), %rsi         // 1990 + i against 2000 + i: differ at i = 10, the 11th
        mov     $100, %ecx
        repe    cmpsb                           // 18
        lea     buffer+100(%rip), %rsi
        lea     buffer+200(%rip), %rdi
        mov     $9, %ecx
        std
        rep     movsq                           // 23
        cld
        xor     %ecx, %ecx
        rep     movsb                           // 26
        rep     stosb
        repe    cmpsb
        repne   scasb                           // 29
        lea     buffer(%rip), %rsi
        lea     buffer+500(%rip), %rdi
        lodsb
        stosb
        movsl
        cmpsb
        scasq                                   // 36
        nop
        nop
        nop
        nop
        nop
        nop
        nop                                     // 43
        mov     $231, %eax
        xor     %edi, %edi
        syscall                                 // 46
        .bss
        .balign 64
buffer: .space  4096

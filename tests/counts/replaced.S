// build: -nostdlib -static -no-pie
// Code that is replaced while older code, which stays, jumps forwards to it. 1 + 20 * (1 + 4 * 7 + 5 + 1 + 5 + 2) + 3 instructions.
// counts: instructions=844 loads=100 stores=100 syscalls=41
        .globl _start
_start: mov     $20, %ebx
round:  mov     $4, %ebp
again:  call    stays
        dec     %ebp
        jnz     again
        mov     $10, %eax            // mprotect: readable, writable
        mov     $changes, %edi
        mov     $4096, %esi
        mov     $3, %edx
        syscall
        incb    changes+1
        mov     $10, %eax            // readable, executable
        mov     $changes, %edi
        mov     $4096, %esi
        mov     $5, %edx
        syscall
        dec     %ebx
        jnz     round
        mov     $231, %eax
        xor     %edi, %edi
        syscall
stays:  test    %ebx, %ebx
        jnz     changes
        ret
        .balign 4096
changes: mov    $1, %eax
        ret
        .balign 4096

// build: -nostdlib -static -no-pie
// A page of code whose translations are dropped, by mprotect, 100 times for each argument; in between it is entered from code that stays, by a
// direct jump and by an indirect call. What look-ups come by must not become more, and the direct jump is linked again each time.
        .globl _start
_start: mov     (%rsp), %rbx
        dec     %rbx
        imul    $100, %rbx, %rbx
        lea     called(%rip), %r12
loop:   mov     $10, %eax
        lea     page(%rip), %rdi
        mov     $4096, %esi
        mov     $5, %edx
        syscall
        mov     $3, %ebp
again:  jmp     page
back:   call    *%r12
        dec     %ebp
        jnz     again
        dec     %rbx
        jnz     loop
        mov     $231, %eax
        xor     %edi, %edi
        syscall

        .balign 4096
page:   jmp     back
called: lea     1(%rax), %eax
        ret
        .balign 4096
        .section .note.GNU-stack,"",@progbits

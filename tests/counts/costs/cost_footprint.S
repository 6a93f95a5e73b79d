// build: -nostdlib -static -no-pie
// Much code: 100 functions for each argument, each called through a table, four times over. A function has a loop of two
// turns, a branch that is taken once in four times, and calls the one behind it directly if it is an even one.
        .globl _start
_start: mov     (%rsp), %r12
        dec     %r12
        imul    $100, %r12, %r12
        lea     functions(%rip), %rsi
        lea     data(%rip), %rdi
        mov     $4, %r13d
round:  xor     %ebx, %ebx
next:   call    *(%rsi,%rbx,8)
        inc     %rbx
        cmp     %r12, %rbx
        jb      next
        dec     %r13d
        jnz     round
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .altmacro
        .macro  function n
f\n:    mov     $2, %ecx
        xor     %eax, %eax
1:      add     8 * (\n % 8)(%rdi), %rax
        add     $\n, %rax
        dec     %ecx
        jnz     1b
        cmp     $4, %r13d
        jne     2f
        mov     %rax, 64(%rdi)
2:      lea     (%rax,%rax,2), %rdx
        .if     \n % 2
        mov     %rdx, 72(%rdi)
        .else
        push    %rdx
        call    g\n
        pop     %rdx
        .endif
        ret
        .if     \n % 2 == 0
g\n:    xor     %rdx, 80(%rdi)
        ret
        .endif
        .endm
        .macro  entry n
        .quad   f\n
        .endm
        .set    i, 0
        .rept   400
        function %i
        .set    i, i + 1
        .endr
        .section .note.GNU-stack,"",@progbits
        .section .rodata
functions:
        .set    i, 0
        .rept   400
        entry   %i
        .set    i, i + 1
        .endr
        .bss
        .balign 64
data:   .skip   128

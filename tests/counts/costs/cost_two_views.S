// build: -nostdlib -pie
// Two functions far from the program, whose translations are dropped 100 times for each argument, share their place among indirect targets with one of
// the program, to which the code cache has another way. Each of the two is looked for anew once each time.
        .globl _start
_start: mov     (%rsp), %rbx
        dec     %rbx
        imul    $100, %rbx, %rbx
        mov     $9, %eax
        xor     %edi, %edi
        mov     $0x40000, %esi
        mov     $3, %edx
        mov     $0x22, %r10d
        mov     $-1, %r8
        xor     %r9d, %r9d
        syscall
        add     $0xffff, %rax
        xor     %ax, %ax
        lea     own(%rip), %r12
        movzwl  %r12w, %ecx
        lea     (%rax,%rcx), %r13
        lea     0x10000(%r13), %r14
        movb    $0xc3, (%r13)
        movb    $0xc3, (%r14)
        call    drop
        call    *%r12
loop:   call    drop
        call    *%r13
        call    *%r14
        call    *%r12
        dec     %rbx
        jnz     loop
        mov     $231, %eax
        xor     %edi, %edi
        syscall

drop:   mov     $10, %eax
        mov     %r13, %rdi
        and     $-4096, %rdi
        mov     $0x11000, %esi
        mov     $5, %edx
        syscall
        ret
        .balign 64
own:    ret
        .section .note.GNU-stack,"",@progbits

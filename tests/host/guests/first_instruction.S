// A static program without a C library: checks at its very first instruction that the registers are what the kernel gives, and
// ends with 0, or with the number of the first check that failed.
    .globl _start
_start:
    pushfq
    mov %rax, -256(%rsp)
    mov $1, %edi
    cmpq $0, -256(%rsp)
    jne fail
    inc %edi
    .irp register, rbx, rcx, rdx, rsi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    test %\register, %\register
    jne fail
    inc %edi
    .endr
    pop %rax
    cmp $0x202, %rax           // edi 15: flags
    jne fail
    inc %edi
    test $15, %rsp             // edi 16: stack alignment
    jne fail
    inc %edi
    cmpq $1, (%rsp)            // edi 17: argc
    jne fail
    inc %edi
    stmxcsr -64(%rsp)
    cmpl $0x1f80, -64(%rsp)    // edi 18: mxcsr
    jne fail
    inc %edi
    fnstcw -64(%rsp)
    cmpw $0x37f, -64(%rsp)     // edi 19: x87 control word
    jne fail
    inc %edi
    pxor %xmm1, %xmm1
    pcmpeqb %xmm15, %xmm1
    pmovmskb %xmm1, %eax
    cmp $0xffff, %eax          // edi 20: a vector register
    jne fail
    inc %edi
    mov %edi, %ebx
    mov $158, %eax             // arch_prctl(ARCH_GET_FS, rsp - 64)
    mov $0x1003, %edi
    lea -64(%rsp), %rsi
    syscall
    mov %ebx, %edi
    cmpq $0, -64(%rsp)         // edi 21: FS base
    jne fail
    inc %edi
    mov %edi, %ebx
    mov $158, %eax             // arch_prctl(ARCH_GET_GS, rsp - 64)
    mov $0x1004, %edi
    lea -64(%rsp), %rsi
    syscall
    mov %ebx, %edi
    cmpq $0, -64(%rsp)         // edi 22: GS base
    jne fail
    xor %edi, %edi
fail:
    mov $60, %eax
    syscall
    .section .note.GNU-stack,"",@progbits

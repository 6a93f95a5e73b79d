// run_sequence(sequence): loads every register from state_in, runs the sequence, stores every register into state_out.
// A sequence ends in `jmp sequence_end`. Layout of a state: general registers in encoding order at 0, flags 128, MXCSR
// 136, masks 144, vectors 208: struct State of driver.c.
#define VECTORS_AT 208

        .macro load offset, register
        mov     state_in+\offset(%rip), %\register
        .endm
        .macro store register, offset
        mov     %\register, state_out+\offset(%rip)
        .endm

        .globl run_sequence, sequence_end
run_sequence:
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        mov     %rdi, target(%rip)
        mov     %rsp, driver_stack(%rip)
        ldmxcsr state_in+136(%rip)
        fninit
#if VECTOR_BYTES == 64
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovdqu64 state_in+VECTORS_AT+64*\n(%rip), %zmm\n
        .endr
        .irp    n, 0,1,2,3,4,5,6,7
        kmovq   state_in+144+8*\n(%rip), %k\n
        .endr
#elif VECTOR_BYTES == 32
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovdqu state_in+VECTORS_AT+64*\n(%rip), %ymm\n
        .endr
#else
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movdqu  state_in+VECTORS_AT+64*\n(%rip), %xmm\n
        .endr
#endif
        pushq   state_in+128(%rip)
        popfq
        load    0, rax
        load    8, rcx
        load    16, rdx
        load    24, rbx
        load    32, rsp
        load    40, rbp
        load    48, rsi
        load    56, rdi
        load    64, r8
        load    72, r9
        load    80, r10
        load    88, r11
        load    96, r12
        load    104, r13
        load    112, r14
        load    120, r15
        jmp     *target(%rip)
sequence_end:
        store   rax, 0
        store   rcx, 8
        store   rdx, 16
        store   rbx, 24
        store   rsp, 32
        store   rbp, 40
        store   rsi, 48
        store   rdi, 56
        store   r8, 64
        store   r9, 72
        store   r10, 80
        store   r11, 88
        store   r12, 96
        store   r13, 104
        store   r14, 112
        store   r15, 120
        mov     driver_stack(%rip), %rsp
        pushfq
        popq    state_out+128(%rip)
        stmxcsr state_out+136(%rip)
#if VECTOR_BYTES == 64
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovdqu64 %zmm\n, state_out+VECTORS_AT+64*\n(%rip)
        .endr
        .irp    n, 0,1,2,3,4,5,6,7
        kmovq   %k\n, state_out+144+8*\n(%rip)
        .endr
        vzeroupper
#elif VECTOR_BYTES == 32
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovdqu %ymm\n, state_out+VECTORS_AT+64*\n(%rip)
        .endr
        vzeroupper
#else
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movdqu  %xmm\n, state_out+VECTORS_AT+64*\n(%rip)
        .endr
#endif
        cld
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .bss
        .balign 8
target: .quad   0
driver_stack: .quad 0
        .section .note.GNU-stack,"",@progbits

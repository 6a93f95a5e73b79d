// build: -nostdlib -static -no-pie
// rip-relative loads, stores, lea, read-modify-write, compare with immediate and jumps while every register holds a
// value that is checked afterwards: a translator that moves rip-relative operands must find a scratch register where
// there is none.
#include "tests/guest/guest_asm.h"

        .macro fill
        mov     $0x0101010101010101, %rax
        mov     $0x0202020202020202, %rbx
        mov     $0x0303030303030303, %rcx
        mov     $0x0404040404040404, %rdx
        mov     $0x0505050505050505, %rsi
        mov     $0x0606060606060606, %rdi
        mov     $0x0707070707070707, %rbp
        mov     $0x0808080808080808, %r8
        mov     $0x0909090909090909, %r9
        mov     $0x1010101010101010, %r10
        mov     $0x1111111111111111, %r11
        mov     $0x1212121212121212, %r12
        mov     $0x1313131313131313, %r13
        mov     $0x1414141414141414, %r14
        mov     $0x1515151515151515, %r15
        .endm

        .macro same register, value
        push    %rax
        mov     $\value, %rax
        cmp     %rax, \register
        pop     %rax
        jne     wrong
        .endm

        .macro check_others                     // all but rax and rbp
        same    %rbx, 0x0202020202020202
        same    %rcx, 0x0303030303030303
        same    %rdx, 0x0404040404040404
        same    %rsi, 0x0505050505050505
        same    %rdi, 0x0606060606060606
        same    %r8,  0x0808080808080808
        same    %r9,  0x0909090909090909
        same    %r10, 0x1010101010101010
        same    %r11, 0x1111111111111111
        same    %r12, 0x1212121212121212
        same    %r13, 0x1313131313131313
        same    %r14, 0x1414141414141414
        same    %r15, 0x1515151515151515
        .endm

        .globl _start
_start: mov     $500, %eax
        mov     %eax, rounds(%rip)
again:  fill
        movq    $1000, cell(%rip)
        mov     cell(%rip), %rax                // load
        cmp     $1000, %rax
        jne     wrong
        mov     %r15, cell(%rip)                // store
        addq    $1, cell(%rip)                  // read-modify-write with immediate
        adc     %r14, cell(%rip)
        xchg    %rax, cell(%rip)
        same    %rax, 0x292929292929292a
        lock    xadd %rax, cell(%rip)
        same    %rax, 1000
        cmpq    $0x2929, cell(%rip)             // compare with immediate of another length
        je      wrong
        cmpb    $0x12, cell(%rip)
        jne     wrong
        cmpw    $0x2d12, cell(%rip)
        jne     wrong
        testl   $0x02000000, cell+1(%rip)
        jnz     wrong
        lea     cell(%rip), %rbp
        mov     (%rbp), %rax
        cmp     cell(%rip), %rax
        jne     wrong
        mov     $0x0707070707070707, %rbp
        check_others
        imul    $3, cell(%rip), %rax            // immediate behind a rip-relative operand
        mov     cell(%rip), %rbp
        lea     (%rbp,%rbp,2), %rbp
        cmp     %rax, %rbp
        jne     wrong
        shldq   $4, %rbx, cell(%rip)
        btsq    $63, cell(%rip)
        jc      bit_was_set
        lea     1(%rax), %rax
bit_was_set:
        pushq   cell(%rip)
        popq    cell+8(%rip)
        mov     cell(%rip), %rax
        cmp     %rax, cell+8(%rip)
        jne     wrong
        call    *function(%rip)
        cmp     $77, %eax
        jne     wrong
        jmp     *onward(%rip)
        jmp     wrong
next:   movups  vector(%rip), %xmm0
        paddq   vector(%rip), %xmm0
        movups  %xmm0, vector+16(%rip)
        movq    vector+24(%rip), %rax
        cmp     $18, %rax
        jne     wrong
        cvtsi2sdl rounds(%rip), %xmm1
        cmpxchg %r15, cell(%rip)
        setzb   cell(%rip)
        check_others
        decl    rounds(%rip)
        jnz     again
        finish_well
wrong:  mov     $1, %edi
        mov     $231, %eax
        syscall

seventy_seven:
        mov     $77, %eax
        ret

        .data
        .balign 16
vector: .quad   5, 9, 0, 0
cell:   .quad   0, 0
rounds: .long   0
        .balign 8
function: .quad seventy_seven
onward: .quad   next

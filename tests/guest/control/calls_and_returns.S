// build: -nostdlib -static -no-pie
// Returns that do not match their calls: push and ret, ret with bytes to pop, a return address that was changed, popped
// or used twice, call of the next instruction, and calls 20000 deep.
#include "tests/guest/guest_asm.h"

        .globl _start
_start: mov     $300, %ebp
again:  mov     %rsp, %r15
        lea     1f(%rip), %rax          // push; ret
        push    %rax
        ret
        ud2
1:      call    2f                      // call of the next instruction: where am I?
2:      pop     %rax
        lea     2b(%rip), %rcx
        cmp     %rcx, %rax
        require_equal 2
        push    $11                     // ret imm16 pops its arguments
        push    $22
        call    two_arguments
        cmp     $33, %eax
        require_equal 3
        cmp     %r15, %rsp
        require_equal 4
        xor     %ebx, %ebx              // a return address that the callee moves on
        call    skips_two_bytes
        .byte   0x0f, 0x0b
        inc     %ebx
        cmp     $1, %ebx
        require_equal 5
        call    drops_its_frame         // returns to our caller's place, not here
        ud2
landing:
        cmp     %r15, %rsp
        require_equal 6
        lea     3f(%rip), %rax          // one ret, reached with two addresses on the stack
        push    %rax
        lea     shared_return(%rip), %rax
        push    %rax
        ret
        ud2
3:      cmp     %r15, %rsp
        require_equal 7
        mov     $20, %edi               // depth
        cmp     $300, %ebp
        jne     4f
        mov     $20000, %edi
4:      call    deep
        cmp     %r15, %rsp
        require_equal 8
        call    switches_stack          // the return address lies on another stack
        cmp     %r15, %rsp
        require_equal 9
        push    %rbp                    // enter and leave
        enter   $64, $0
        mov     %rsp, -8(%rbp)
        leave
        pop     %rbp
        dec     %ebp
        jnz     again
        finish_well

two_arguments:
        mov     8(%rsp), %rax
        add     16(%rsp), %rax
        ret     $16
skips_two_bytes:
        addq    $2, (%rsp)
        ret
drops_its_frame:
        add     $8, %rsp
        lea     landing(%rip), %rax
        push    %rax
shared_return:
        ret
deep:   dec     %edi
        jz      1f
        call    deep
1:      ret
switches_stack:
        mov     (%rsp), %rax
        lea     8(%rsp), %rdx
        lea     other_stack_top(%rip), %rsp
        push    %rdx
        push    %rax
        call    1f
        jmp     2f
1:      ret
2:      pop     %rax
        pop     %rsp                    // pop into the stack pointer itself
        jmp     *%rax
        .bss
        .balign 16
        .space  4096
other_stack_top:

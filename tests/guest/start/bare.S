// build: -nostdlib -static -no-pie
// No C library: what the kernel leaves in the registers and on the stack at the first instruction (System V ABI 3.4.1).
#include "tests/guest/guest_asm.h"

        .globl _start
_start: pushfq
        pop     %r8
        and     $0xfffffffffffffdff, %r8        // without the interrupt flag: nothing is set but bit 1
        cmp     $2, %r8
        require_equal 2
        test    $15, %spl
        require_equal 3
        // Linux clears the general registers (arch/x86/include/asm/elf.h, ELF_PLAT_INIT)
        or      %rbx, %rax
        or      %rcx, %rax
        or      %rdx, %rax
        or      %rsi, %rax
        or      %rdi, %rax
        or      %rbp, %rax
        or      %r9, %rax
        or      %r10, %rax
        or      %r11, %rax
        or      %r12, %rax
        or      %r13, %rax
        or      %r14, %rax
        or      %r15, %rax
        require_equal 4
        cmpq    $1, (%rsp)                      // argc
        require_equal 5
        cmpq    $0, 16(%rsp)
        require_equal 6
        stmxcsr -8(%rsp)
        cmpl    $0x1f80, -8(%rsp)
        require_equal 7
        fnstcw  -8(%rsp)
        cmpw    $0x037f, -8(%rsp)
        require_equal 8
        mov     $158, %eax                      // arch_prctl(ARCH_GET_FS): no base yet
        mov     $0x1003, %edi
        lea     -16(%rsp), %rsi
        syscall
        cmpq    $0, -16(%rsp)
        require_equal 9
        finish_well

// For guests in assembly without a C library: system calls, the last line of a good run, and checks. No register but
// those named by the system-call convention (rax, rdi, rsi, rdx, rcx, r11) is touched.
        .macro finish_well
        lea     simrun_success(%rip), %rsi
        mov     $13, %edx
        mov     $1, %edi
        mov     $1, %eax
        syscall
        xor     %edi, %edi
        mov     $231, %eax
        syscall
        .pushsection .rodata
simrun_success:
        .ascii  "EXIT-SUCCESS\n"
        .popsection
        .endm

        // Leaves with status `code` unless the last comparison found equality.
        .macro require_equal code
        je      1f
        mov     $\code, %edi
        mov     $231, %eax
        syscall
1:
        .endm

// A loop of ten instructions, then one of functions: where intervals end is known to the instruction.
        .globl _start
_start: mov     $20000, %ecx
1:      nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        dec     %ecx
        jnz     1b
        mov     $10000, %ebx
2:      call    four
        dec     %ebx
        jnz     2b
        mov     $231, %eax                      // exit_group
        xor     %edi, %edi
        syscall
four:   nop
        nop
        nop
        ret

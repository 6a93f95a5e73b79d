// build: -nostdlib -static -no-pie
// Indirect calls of 16 functions in an order that does not come again, and indirect jumps to 4 places; 10000 turns for
// each argument. Once each target has been seen, nothing may go through the dispatcher.
        .globl _start
_start: mov     (%rsp), %rbx
        dec     %rbx
        imul    $10000, %rbx, %rbx
        mov     $1, %eax
        lea     functions(%rip), %rsi
        lea     places(%rip), %rdi
loop:   imul    $1103515245, %eax, %eax
        add     $12345, %eax
        mov     %eax, %ecx
        shr     $16, %ecx
        and     $15, %ecx
        call    *(%rsi,%rcx,8)
        mov     %eax, %ecx
        shr     $24, %ecx
        and     $3, %ecx
        jmp     *(%rdi,%rcx,8)
place0: nop
place1: nop
place2: nop
place3: dec     %rbx
        jnz     loop
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .altmacro
        .macro  function n
        .balign 16
f\n:    lea     \n(%rdx), %edx
        ret
        .endm
        .macro  entry n
        .quad   f\n
        .endm
        .set    i, 0
        .rept   16
        function %i
        .set    i, i + 1
        .endr
        .section .note.GNU-stack,"",@progbits
        .section .rodata
        .balign 64
functions:
        .set    i, 0
        .rept   16
        entry   %i
        .set    i, i + 1
        .endr
places: .quad   place0, place1, place2, place3

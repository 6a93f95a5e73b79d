// build: -nostdlib -static -no-pie
// Goes round by jumps to addresses in registers until a signal ends it.
        .globl _start
_start: mov     $37, %eax                       // alarm(1)
        mov     $1, %edi
        syscall
        lea     1f(%rip), %r8
        lea     2f(%rip), %r9
1:      inc     %rbx
        jmp     *%r9
        .skip   64, 0x90
2:      inc     %rbx
        jmp     *%r8

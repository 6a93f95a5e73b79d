// build: -nostdlib -static -no-pie
// A read-modify-write is one load and one store, locked or not, and also when a compare-and-exchange fails (the manual:
// "the destination operand receives a write cycle without regard to the result of the comparison"). 100 turns of 14
// instructions, 11 of which read and write.
// counts: instructions=1405 loads=1100 stores=1100 prefetches=0 flushes=0 string_iterations=0 syscalls=1
        .globl _start
_start: mov     $100, %esi
        xor     %ebx, %ebx
turn:   lock    incq cell(%rip)
        lock    add %rsi, cell(%rip)
        xchg    %rdx, cell(%rip)
        lock    xadd %rdx, cell(%rip)
        mov     $-1, %rax
        lock    cmpxchg %rdx, cell(%rip)        // fails, and loads rax
        lock    cmpxchg %rdx, cell(%rip)        // holds
        lock    cmpxchg16b pair(%rip)
        lock    btsq $3, cell(%rip)
        incl    cell(%rip)
        negq    cell(%rip)
        shlq    $2, cell(%rip)
        dec     %esi
        jnz     turn
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .data
        .balign 16
pair:   .quad   1, 2
cell:   .quad   0

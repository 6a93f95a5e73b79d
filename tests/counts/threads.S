// build: -nostdlib -static -no-pie
// Three threads by clone, each with a loop of its own length; counts for each thread, in order of creation (the first
// waits, for an unknown number of turns, so only theirs are known). A thread: test, jz, pop, lea; 5 instructions, 2
// loads and 2 stores a turn; 3 to exit.
// threads: 1: instructions=5007 loads=2001 stores=2000; 2: instructions=10007 loads=4001 stores=4000; 3: instructions=15007 loads=6001 stores=6000
        .globl _start
_start: mov     $3, %r12d
        lea     stacks(%rip), %r13
        mov     $1000, %r14d
create: add     $4096, %r13
        mov     %r14, -8(%r13)
        lea     -8(%r13), %rsi
        mov     $56, %eax               // clone(VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | CHILD_CLEARTID)
        mov     $0x250f00, %edi
        lea     alive(,%r12,4), %r10
        movl    $1, (%r10)
        xor     %edx, %edx
        xor     %r8d, %r8d
        syscall
        test    %eax, %eax              // the threads start here: 2 instructions
        jz      thread
        js      failed
        add     $1000, %r14
        dec     %r12d
        jnz     create
        mov     $1, %ebx
wait:   lea     alive(,%rbx,4), %rdi    // futex(&alive[i], WAIT, 1, none)
        cmpl    $0, (%rdi)
        je      next
        mov     $202, %eax
        xor     %esi, %esi
        mov     $1, %edx
        xor     %r10d, %r10d
        syscall
        jmp     wait
next:   inc     %ebx
        cmp     $4, %ebx
        jne     wait
        mov     $231, %eax
        xor     %edi, %edi
        syscall
failed: ud2
thread: pop     %rcx
        lea     -64(%rsp), %rdx
1:      mov     (%rdx), %rax
        mov     %rax, 8(%rdx)
        lock    incl shared(%rip)
        dec     %rcx
        jnz     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .bss
        .balign 64
alive:  .space  64
shared: .space  64
stacks: .space  4 * 4096

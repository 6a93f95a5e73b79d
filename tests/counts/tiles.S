// build: -nostdlib -static -no-pie
// needs: amx_tile
// A tile load or store is one reference for each row of the tile as it is configured: tile 0 has 16 rows of 64 bytes, tile 3 has 5 of 12,
// tile 7 has 1 of 4. The configuration is 64 bytes. In a loop of 20 turns, 16 instructions.
// counts: instructions=335 loads=1281 stores=460 string_iterations=0 syscalls=2
        .globl _start
_start: mov     $158, %eax                      // arch_prctl(ARCH_REQ_XCOMP_PERM, 18)
        mov     $0x1023, %edi
        mov     $18, %esi
        syscall
        test    %eax, %eax
        jnz     out
        ldtilecfg shape(%rip)                   // L, once
        mov     $20, %r15d
        lea     area(%rip), %rbx
        lea     area(%rip), %r12
        mov     $64, %ecx
turn:   tileloadd (%rbx,%rcx,1), %tmm0          // 16 L
        tileloaddt1 64(%r12,%rcx,2), %tmm0      // 16 L
        tileloadd (%r12,%rcx,8), %tmm3          // 5 L
        tileloadd (%rbx), %tmm7                 // 1 L
        tileloadd 0x100(%rbx,%rcx,1), %tmm0     // 16 L
        tilestored %tmm0, (%rbx,%rcx,1)         // 16 S
        tilestored %tmm3, 8(%r12,%rcx,1)        // 5 S
        sttilecfg out_shape(%rip)               // S
        mov     %rbx, %rax
        tileloadd (%rax,%rcx,1), %tmm3          // 5 L
        tileloadd (%rax,%rcx,1), %tmm3          // 5 L
        xor     %edx, %edx
        tilestored %tmm7, (%rax,%rdx,1)         // 1 S
        tilezero %tmm0
        dec     %r15d
        jnz     turn
        tilerelease
out:    mov     $231, %eax
        mov     %r15d, %edi
        syscall
        .data
        .balign 64
shape:  .byte   1, 0
        .space  14
        .word   64, 0, 0, 12, 0, 0, 0, 4
        .space  16
        .byte   16, 0, 0, 5, 0, 0, 0, 1
        .space  8
out_shape: .space 64
area:   .space  4096

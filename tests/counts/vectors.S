// build: -nostdlib -static -no-pie
// needs: avx2
// Vector references: gathers one load per active lane, masked accesses one for each run of active lanes, the rest one
// whatever the width. 50 turns of 17 instructions. Loads per turn: movups 1, vmovups 1, vaddps 1, mask 1, vpmaskmovd
// (lanes 0, 1, 3: two runs) 2, mask again 1, gather (3 lanes) 3, movntdqa 1, broadcast 1. Stores: movups 1, vmovups 1,
// vpmaskmovd 2, movntps 1.
// counts: instructions=855 loads=600 stores=250 prefetches=50 flushes=0 string_iterations=0 syscalls=1
        .globl _start
_start: mov     $50, %ebx
        vpxor   %ymm5, %ymm5, %ymm5
turn:   movups  data+8(%rip), %xmm0
        movups  %xmm0, data+40(%rip)
        vmovups data+3(%rip), %ymm1
        vmovups %ymm1, data+99(%rip)
        vaddps  data(%rip), %ymm1, %ymm2
        vmovdqu mask(%rip), %ymm3
        vpmaskmovd data(%rip), %ymm3, %ymm4
        vpmaskmovd %ymm4, %ymm3, data+256(%rip)
        vmovdqu mask(%rip), %ymm3
        lea     data(%rip), %rax
        vpgatherdd %ymm3, (%rax,%ymm5,4), %ymm6
        movntdqa data(%rip), %xmm7
        movntps %xmm7, data(%rip)
        vbroadcastss data(%rip), %ymm8
        prefetchnta data(%rip)
        dec     %ebx
        jnz     turn
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .data
        .balign 64
data:   .space  512
mask:   .long   -1, -1, 0, -1, 0, 0, 0, 0

// build: -nostdlib -static
// Two indirect targets whose addresses agree in their low 18 bits (the index of the table of targets takes bits from there): flags that a routine returns survive the look-up.
.globl _start
.text
_start:
  xor %ebx, %ebx
round:
  call set_zero
first_return:              // flags live here: low 18 bits chosen below
  jmp after_first
.p2align 18
  nop
  nop
pad1:
  call set_zero
live_target:               // a return target that reads the zero flag at once
  jne wrong
  jmp next
.p2align 18
  nop
  nop
pad2:
  call set_zero
dead_target:               // the same low 18 bits; overwrites every flag first
  xor %eax, %eax
  jmp after_dead
.p2align 18
set_zero:
  cmp %eax, %eax          # equal
  ret
after_first:
  jmp pad1
next:
  jmp pad2
after_dead:
  inc %ebx
  cmp $50, %ebx
  jb round
  mov $1, %eax
  mov $1, %edi
  lea message(%rip), %rsi
  mov $13, %edx
  syscall
  mov $60, %eax
  xor %edi, %edi
  syscall
wrong:
  mov $60, %eax
  mov $1, %edi
  syscall
message: .ascii "EXIT-SUCCESS\n"

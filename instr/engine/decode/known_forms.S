/* known_forms.h: what make_known_forms wrote. */
    .section .rodata
    .balign 64
    .globl simrun_known_forms
    .type simrun_known_forms, @object
simrun_known_forms:
    .incbin "known_forms.bin"
    .size simrun_known_forms, . - simrun_known_forms
    .section .note.GNU-stack, "", @progbits

/* Device code, linked, as bytes of the library: from NAME to NAME_end. */
#define JOINED(a, b) a##b
#define END(name) JOINED(name, _end)
  .section .rodata
  .balign 64
  .hidden NAME
  .globl NAME
NAME:
  .incbin IMAGE
  .hidden END(NAME)
  .globl END(NAME)
END(NAME):
  .byte 0
  .section .note.GNU-stack, "", %progbits

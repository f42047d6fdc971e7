/* Device code, linked, as bytes of the library. */
  .section .rodata
  .balign 64
  .hidden rondo_device_image
  .globl rondo_device_image
rondo_device_image:
  .incbin IMAGE
  .hidden rondo_device_image_end
  .globl rondo_device_image_end
rondo_device_image_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits

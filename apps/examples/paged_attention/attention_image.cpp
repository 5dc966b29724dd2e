#include "attention_image.h"

#ifdef CANOPY_KERNELS_FATBIN
asm(".pushsection .rodata\n"
    ".balign 64\n"
    ".globl paged_attention_image\n"
    ".hidden paged_attention_image\n"
    "paged_attention_image:\n"
    ".incbin \"" CANOPY_KERNELS_FATBIN
    "\"\n"
    ".popsection\n");
#else
const unsigned char paged_attention_image[] = {0};
#endif

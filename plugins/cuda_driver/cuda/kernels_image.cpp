#include "kernels_image.h"

#ifdef CANOPY_KERNELS_FATBIN
static_assert(sizeof(std::size_t) == 8, "the size below is a quad");
asm(".pushsection .rodata\n"
    ".balign 64\n"
    ".globl canopy_kernels_image\n"
    ".hidden canopy_kernels_image\n"
    "canopy_kernels_image:\n"
    ".incbin \"" CANOPY_KERNELS_FATBIN
    "\"\n"
    ".Lcanopy_kernels_image_end:\n"
    ".balign 8\n"
    ".globl canopy_kernels_image_size\n"
    ".hidden canopy_kernels_image_size\n"
    "canopy_kernels_image_size:\n"
    ".quad .Lcanopy_kernels_image_end - canopy_kernels_image\n"
    ".popsection\n");
#else
namespace canopy::cuda {
extern "C" {
const unsigned char canopy_kernels_image[1] = {};
const std::size_t canopy_kernels_image_size = 0;
}
}  // namespace canopy::cuda
#endif

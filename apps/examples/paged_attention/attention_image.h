#pragma once
/// The compiled attention kernel, for cuModuleLoadData.

/// A fat binary, aligned to 64 bytes; a single 0 in a build without nvcc, where the CUDA store does not start either.
extern "C" const unsigned char paged_attention_image[];

#pragma once

#include <canopy/kv_store.h>

#include <memory>
#include <span>
#include <stdexcept>

#include "attention.h"

namespace canopy::examples {

/// Thrown if the example cannot continue. The error message gives the reason.
class ExampleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs the kernel beside the rows of a store: on the CPU or a GPU. Errors are ExampleErrors.
class Processor {
 public:
  virtual ~Processor() = default;

  using Buffer = std::shared_ptr<std::byte>;
  /// Returns memory for the kernel with these bytes. REQUIRES: it is destroyed before the processor.
  virtual Buffer put(std::span<const std::byte> bytes) = 0;
  /// Copies from an address of the kernel, after everything queued before is done.
  virtual void get(const std::byte* from, std::span<std::byte> to) = 0;
  /// Runs the kernel after the store's queued work. All pointers of the job are addresses of the kernel.
  virtual void run(const AttentionJob& job) = 0;
};

/// Returns the processor on which the store's rows are. REQUIRES: the store outlives it.
std::unique_ptr<Processor> processor_beside(KVStore& store);

std::unique_ptr<Processor> make_cpu();
/// Returns the GPU with the number of KVView::device. While it exists, the store queues on its stream.
std::unique_ptr<Processor> make_gpu(KVStore& store);

}  // namespace canopy::examples

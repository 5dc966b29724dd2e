#pragma once

#include <canopy/kv_store.h>

#include <memory>
#include <span>
#include <stdexcept>

#include "attention.h"

namespace canopy::examples {

/// The example cannot continue; one sentence says why.
class ExampleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where the kernel runs, next to the rows of a store: the CPU or a GPU. Errors are ExampleErrors.
class Processor {
 public:
  virtual ~Processor() = default;

  using Buffer = std::shared_ptr<std::byte>;
  /// Memory that the kernel can use, with these bytes. REQUIRES: it is destroyed before the processor.
  virtual Buffer put(std::span<const std::byte> bytes) = 0;
  /// Copies from an address of the kernel's, when everything queued before is done.
  virtual void get(const std::byte* from, std::span<std::byte> to) = 0;
  /// After what the store has queued. All pointers of the job are addresses of the kernel's.
  virtual void run(const AttentionJob& job) = 0;
};

/// REQUIRES: the store outlives it.
std::unique_ptr<Processor> processor_beside(KVStore& store);

std::unique_ptr<Processor> make_cpu();
/// The GPU with the number of KvView::device. While it lives, the store queues on its stream.
std::unique_ptr<Processor> make_gpu(KVStore& store);

}  // namespace canopy::examples

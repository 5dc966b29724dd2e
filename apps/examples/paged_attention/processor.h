#pragma once

#include <canopy/kv_store.h>

#include <memory>
#include <span>
#include <stdexcept>

#include "attention.h"

namespace canopy::examples {

/// The example cannot go on; one sentence says why.
class ExampleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where the kernel runs: beside the rows of a store, be that the CPU or a GPU. Errors are ExampleErrors.
class Processor {
 public:
  virtual ~Processor() = default;

  using Buffer = std::shared_ptr<std::byte>;
  /// Memory that the kernel can use, with these bytes in it. REQUIRES: it is gone before the processor is.
  virtual Buffer put(std::span<const std::byte> bytes) = 0;
  /// Copies from an address of the kernel's, when everything queued before is done.
  virtual void get(const std::byte* from, std::span<std::byte> to) = 0;
  /// After what the store has queued. All pointers of the job are addresses of the kernel's.
  virtual void run(const AttentionJob& job) = 0;
};

/// REQUIRES: the store outlives it.
std::unique_ptr<Processor> processor_beside(KVStore& store);

std::unique_ptr<Processor> make_cpu();
/// A GPU by the number that KvView::device has. Until it goes the store queues on its stream.
std::unique_ptr<Processor> make_gpu(KVStore& store);

}  // namespace canopy::examples

#include <algorithm>

#include "state.h"

namespace canopy::cuda {

using namespace canopy::fake_cuda;

extern "C" {

Result cuModuleLoadData(ModuleHandle* out, const void* image) {
  FAKE_ENTER(kContext | kNotInCapture);
  if (!out || !image) return Result::invalid_value;
  *out = state().fresh<ModuleHandle>();
  state().modules.insert(*out);
  return Result::success;
}

Result cuModuleUnload(ModuleHandle module) {
  FAKE_ENTER(kContext | kNotInCapture);
  if (state().modules.erase(module) == 0) return Result::invalid_handle;
  std::erase_if(state().functions, [&](const auto& f) { return f.second.module == module; });
  return Result::success;
}

Result cuModuleGetFunction(FunctionHandle* out, ModuleHandle module, const char* name) {
  FAKE_ENTER(kContext);
  if (!out || !name) return Result::invalid_value;
  if (!state().modules.contains(module)) return Result::invalid_handle;
  const auto found = twins().find(name);
  if (found == twins().end()) return Result::not_found;
  *out = state().fresh<FunctionHandle>();
  state().functions[*out] = {found->second, module};
  return Result::success;
}

Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle function) {
  FAKE_ENTER(kContext);
  if (!value) return Result::invalid_value;
  if (!state().functions.contains(function)) return Result::invalid_handle;
  switch (attribute) {
    case FunctionAttribute::max_threads_per_block:
      *value = 1024;
      return Result::success;
    case FunctionAttribute::num_regs:
      *value = 32;
      return Result::success;
    case FunctionAttribute::ptx_version:
    case FunctionAttribute::binary_version:
      *value = 90;
      return Result::success;
    case FunctionAttribute::max_dynamic_shared_size_bytes:
      *value = 48 << 10;
      return Result::success;
    case FunctionAttribute::shared_size_bytes:
    case FunctionAttribute::local_size_bytes:
      *value = 0;
      return Result::success;
  }
  return Result::invalid_value;
}

Result cuLaunchKernel(FunctionHandle handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** params,
                      void** extra) {
  FAKE_ENTER(kContext);
  const auto found = state().functions.find(handle);
  if (found == state().functions.end()) return Result::invalid_handle;
  const Twin& twin = *found->second.twin;
  const bool grid_fits = grid_x - 1U < 0x7fffffffU && grid_y - 1U < 65535U && grid_z - 1U < 65535U;
  const bool block_fits = block_x - 1U < 1024U && block_y - 1U < 1024U && block_z - 1U < 64U &&
                          std::uint64_t{block_x} * block_y * block_z <= 1024;
  if (!grid_fits || !block_fits || shared_bytes > 48U << 10 || extra || (!params && !twin.parameters.empty()))
    return Result::invalid_value;
  std::vector<std::vector<std::byte>> values;
  for (std::size_t i = 0; i < twin.parameters.size(); ++i) {
    if (!params[i]) return Result::invalid_value;
    const auto* const first = static_cast<const std::byte*>(params[i]);
    values.emplace_back(first, first + twin.parameters[i]);
  }
  const Launch launch{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return enqueue(stream, [&twin, launch, values = std::move(values)]() mutable {
    ++state().launches;
    std::vector<void*> pointers;
    for (std::vector<std::byte>& value : values) pointers.push_back(value.data());
    return guarded([&] { twin.run(launch, pointers.data()); });
  });
}

}  // extern "C"
}  // namespace canopy::cuda

#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// A fake GPU runs no GPU code: cuModuleGetFunction finds a kernel's twin on the CPU by the kernel's name. A file with
///
///   const canopy::fake_cuda::Twin fill = canopy::fake_cuda::twin("fill", +[](const Launch& launch, DevicePtr to, ...)
///   {}); const canopy::fake_cuda::Listed listed(fill);
///
/// among the fake's sources is all it takes.
namespace canopy::fake_cuda {

struct Launch {
  std::array<unsigned, 3> grid, block;
  unsigned shared_bytes;
};

struct Twin {
  std::string name;
  std::vector<std::size_t> parameters;  ///< sizes; that much is copied at the launch
  /// REQUIRES: nothing in it needs a destructor while it touches device memory, because an access to memory that is
  /// not there leaves it by a jump. Calls no function of the driver. params[i] points to parameters[i] bytes.
  std::function<void(const Launch&, void* const* params)> run;
};

/// A twin of a function whose parameters are the kernel's own.
template <class... P>
Twin twin(std::string name, void (*body)(const Launch&, P...)) {
  return {std::move(name), {sizeof(P)...}, [body](const Launch& launch, void* const* params) {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
              const auto get = []<class T>(std::in_place_type_t<T>, const void* from) {
                T value;
                std::memcpy(&value, from, sizeof value);
                return value;
              };
              static_cast<void>(params);
              static_cast<void>(get);
              body(launch, get(std::in_place_type<P>, params[I])...);
            }(std::index_sequence_for<P...>{});
          }};
}

/// Puts a twin among those the fake knows. REQUIRES: it lives as long as the library.
class Listed {
 public:
  explicit Listed(const Twin& twin);
};

}  // namespace canopy::fake_cuda

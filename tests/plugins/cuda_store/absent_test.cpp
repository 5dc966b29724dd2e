/// Machines without a device.
#include "support.h"

namespace cuda_store_test {
namespace {

class OtherDriver {
 public:
  explicit OtherDriver(const char* name) : before_(library()) { setenv("CANOPY_CUDA_DRIVER", name, 1); }
  ~OtherDriver() { setenv("CANOPY_CUDA_DRIVER", before_.c_str(), 1); }
  OtherDriver(const OtherDriver&) = delete;
  OtherDriver& operator=(const OtherDriver&) = delete;

 private:
  std::string before_;
};

std::string refusal() {
  try {
    small_store();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}
std::string absence() {
  std::string what;
  CHECK_FALSE(plugins().find(KVStore::kInterface, "cuda")->available(what));
  return what;
}

}  // namespace

TEST_SUITE_BEGIN("absent");

TEST_CASE("without a driver the store is not available and says why") {
  const OtherDriver none("libcuda_that_nobody_has.so.1");
  CHECK(absence().find("no CUDA driver here: libcuda_that_nobody_has.so.1") == 0);
  CHECK(refusal().find("no CUDA driver here: libcuda_that_nobody_has.so.1") != std::string::npos);
}

TEST_CASE("a library that is no driver is said to be too old and what it lacks is named") {
  const OtherDriver none("libm.so.6");
  CHECK(absence() == "the CUDA driver libm.so.6 is too old: it has no cuInit");
  CHECK(refusal().find("it has no cuInit") != std::string::npos);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("fake");

TEST_CASE("a driver without a device is no place for the store") {
  fake()->reset();
  fake()->devices(0);
  CHECK(absence().find("no CUDA device") == 0);
  CHECK(refusal().find("no CUDA device") != std::string::npos);
  fake()->reset();
  CHECK(fake()->now().context_owners == 0);
}

TEST_CASE("a device number that is not there is answered with how many there are") {
  const Device device;
  std::string message;
  try {
    small_store(", device: 3");
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK(message.find("no CUDA device 3: there are 1") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace cuda_store_test

// test_cuda_store: the CUDA store over the driver that CANOPY_CUDA_DRIVER names. Without a device it ends with 77 and
// says so, which CTest reports as skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <string_view>

#include "importer.h"
#include "support.h"

int main(int argc, char** argv) {
  using namespace cuda_store_test;
  bool lists = false;
  for (int i = 1; i < argc; ++i) lists |= std::string_view(argv[i]).starts_with("--list");
  if (argc == 3 && std::string_view(argv[1]) == kImporter) return import_and_compare(std::atoi(argv[2]));
  std::string what;
  const Offer* const offer = plugins().find(KVStore::kInterface, "cuda");
  if (!lists && (!offer || !offer->available(what))) {
    std::printf("SKIPPED: %s\n", offer ? what.c_str() : "there is no plugin cuda_store beside this program");
    return 77;
  }
  return doctest::Context(argc, argv).run();
}

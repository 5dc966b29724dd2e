#include "commands.h"

int main(int argc, char** argv) {
  using namespace canopy::app;
  return run_program(argc, argv,
                     {"canopy-dev", "for developers of Canopy and of its plugins: measure, check, verify",
                      [](CLI::App& program, const PluginFolders& folders, int& status) {
                        add_bench(program, folders, status);
                        add_check(program, folders, status);
                        add_verify(program, folders, status);
                      }});
}

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace canopy::test {

/// Runs a story told as text; what is wrong with it, a line each as `file:line: ...`, nothing if all holds.
///
///   engine page_size=4 capacity=8                     # the world; options={...}, policy, overlap, namespaces
///   insert 1 2 3 4  5 6 7 8        -> had 0
///   match  as=a 1 2 3 4            -> 4               # keeps the lock and calls it a
///   insert below=a as=b 1 2 3 4 9 9 9 9 -> had 4, spare 0
///   evict  1                       -> 1 page
///   release b
///   state                          -> evictable 8, nodes 2, waiting 1, free 5, refused 0
///
/// Words can stand in any grouping. What stands behind -> is compared with what came, and only that; but the
/// models watch every line besides (World).
std::vector<std::string> run_scenario(const std::filesystem::path& file);
std::vector<std::string> run_scenario(const std::string& text, const std::string& name);

}  // namespace canopy::test

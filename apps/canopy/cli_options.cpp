#include "cli_options.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include <workload/text.h>

namespace canopy::app {

CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  return {[least, most](std::string& text) {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
              return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
            // CLI11 reads the text again, with the rules of C: 0100 would become 64.
            return text != fmt::to_string(value) ? fmt::format("'{}' begins with 0; write {}", text, value) : "";
          },
          std::to_string(least) + "..", "whole number"};
}

CLI::Validator real(double least, double most) {
  return {[least, most](std::string& text) {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool is_one = error == std::errc() && end == text.data() + text.size();
            return is_one && value >= least && value <= most
                       ? ""
                       : fmt::format("'{}' is not a number from {} to {}", text, least, most);
          },
          fmt::format("{}..{}", least, most), "number"};
}

CLI::Option* block_size(CLI::App& command, std::uint64_t& block) {
  return command
      .add_option("--block-size", block, "tokens per id of the trace; default: 512 for mooncake, 16 for qwen")
      ->check(whole(1, workload::kMaxTraceBlock));
}

CLI::Option* repeated(CLI::Option* option) {
  return option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace canopy::app

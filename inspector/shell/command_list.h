#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::inspector {

class App;

/// A line of the list of commands.
struct ListedCommand {
  std::string keys, words;
  std::function<void(App&)> act;
};

/// Returns how well `wanted` fits a line: its letters must be there in this order. Letters in a row and beginnings of
/// words have most points. Negative: it does not fit. Capital letters make no difference.
int fit_of(std::string_view wanted, std::string_view words);

/// The list of all that can be done: commands of keys, panels, files that panels on the screen can write, and feeds. A
/// few letters find a line.
class CommandList {
 public:
  bool is_open() const { return open_; }
  void open(const App& app);
  void close() { open_ = false; }
  /// Draws it, and does what was chosen.
  void draw(App& app);
  /// Returns the lines that fit what was typed, the best first.
  std::vector<const ListedCommand*> fitting() const;

 private:
  void draw_lines(const std::vector<const ListedCommand*>& lines, const ListedCommand*& chosen);

  bool open_ = false, opened_ = false;
  std::vector<ListedCommand> all_;
  std::array<char, 128> wanted_{};
  std::size_t at_ = 0;  ///< line that Enter chooses
};

}  // namespace canopy::inspector

// plant SOURCE OUTPUT X.fault... -- FILE...
//
// Copies the FILEs of the SOURCE tree to OUTPUT with the faults of the lists planted in them, numbered from 1, and
// writes what they are to OUTPUT/planted_list.h. A list names the file it is for, and then its faults:
//
//   file plugins/radix/run_store.cpp
//
//   fault a_name
//   A sentence that says what is broken.
//   - text that stands in the file exactly once
//   + what stands in its place; PLANTED is true while this fault is switched on
//
// Text of several lines has several lines with - or +; lines that begin with # are comments. Further pairs of - and +
// are further places of the same fault, and `and FILE` before a pair says that it is for another file. A fault whose
// text is not there, or not once, or overlaps another's, is an error with the place of the fault.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// A text that is replaced.
struct Change {
  std::string file, right, wrong;
};
struct Fault {
  std::string place;  ///< list and line, for messages
  std::string file, name, sentence;
  std::vector<Change> changes;
};

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("{} cannot be read", path.string()));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Leaves a file that already has this text as it is, so that nothing is built again for it.
void write(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && text_of(path) == text) return;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw Error(fmt::format("{} cannot be written", path.string()));
}

void read_list(const fs::path& path, std::vector<Fault>& faults) {
  std::ifstream list(path);
  if (!list) throw Error(fmt::format("{} cannot be read", path.string()));
  std::string file;  // file of the next change
  Fault* fault = nullptr;
  int number = 0;
  for (std::string line; std::getline(list, line);) {
    const std::string place = fmt::format("{}:{}", path.string(), ++number);
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with("file ")) {
      file = line.substr(5), fault = nullptr;
      continue;
    }
    if (line.starts_with("fault ")) {
      if (fault) file = fault->file;
      fault = &faults.emplace_back(Fault{place, file, line.substr(6), "", {}});
      continue;
    }
    if (!fault) throw Error(place + ": there is no fault yet that this belongs to");
    std::vector<Change>& changes = fault->changes;
    const bool right = line.starts_with("- ");
    if (line.starts_with("and ")) {
      file = line.substr(4);
    } else if (right || line.starts_with("+ ")) {
      if (right && (changes.empty() || !changes.back().wrong.empty())) changes.push_back({file, "", ""});
      if (changes.empty()) throw Error(place + ": nothing is replaced by this text");
      std::string& text = right ? changes.back().right : changes.back().wrong;
      text += (text.empty() ? "" : "\n") + line.substr(2);
    } else {
      fault->sentence += (fault->sentence.empty() ? "" : " ") + line;
    }
  }
}

void check(const std::vector<Fault>& faults) {
  std::map<std::string, std::string> places;
  for (const Fault& fault : faults) {
    if (fault.file.empty()) throw Error(fault.place + ": the list does not say which file it is for");
    if (fault.sentence.empty()) throw Error(fault.place + ": the fault has no sentence");
    if (fault.changes.empty()) throw Error(fault.place + ": the fault has no text to replace");
    for (const Change& change : fault.changes)
      if (change.wrong.find("PLANTED") == std::string::npos)
        throw Error(fault.place + ": nothing switches the fault on: its text has no PLANTED");
    const auto [other, is_new] = places.emplace(fault.name, fault.place);
    if (!is_new) throw Error(fmt::format("{}: a fault has this name already: {}", fault.place, other->second));
  }
}

/// The text with the changes that are for this file; what is wrong with them goes to `errors`.
std::string planted(const std::string& file, const std::string& text, const std::vector<Fault>& faults,
                    std::vector<std::string>& errors) {
  struct Patch {
    std::size_t at;
    const Fault* fault;
    const Change* change;
    std::size_t number;
  };
  std::vector<Patch> patches;
  for (std::size_t i = 0; i < faults.size(); ++i)
    for (const Change& change : faults[i].changes) {
      if (change.file != file) continue;
      const std::string &right = change.right, &place = faults[i].place;
      std::size_t found = 0, at = 0;
      for (std::size_t from = text.find(right); from != std::string::npos; from = text.find(right, from + 1))
        ++found, at = from;
      if (found == 0) errors.push_back(fmt::format("{}: {} no longer contains this text", place, file));
      else if (found > 1) errors.push_back(fmt::format("{}: {} contains this text {} times", place, file, found));
      else patches.push_back({at, &faults[i], &change, i + 1});
    }
  std::sort(patches.begin(), patches.end(), [](const Patch& a, const Patch& b) { return a.at < b.at; });
  std::string result;
  std::size_t done = 0;
  for (const Patch& patch : patches) {
    if (patch.at < done) {
      errors.push_back(fmt::format("{}: the fault overlaps another", patch.fault->place));
      continue;
    }
    result += text.substr(done, patch.at - done);
    std::string wrong = patch.change->wrong;
    const std::string word = "PLANTED", condition = fmt::format("(canopy_planted == {})", patch.number);
    for (std::size_t at = wrong.find(word); at != std::string::npos; at = wrong.find(word, at + condition.size()))
      wrong.replace(at, word.size(), condition);
    result += wrong;
    done = patch.at + patch.change->right.size();
  }
  return result + text.substr(done);
}

std::string list_of(const std::vector<Fault>& faults) {
  std::string text =
      "#pragma once\n\n"
      "/// Fault number i + 1: its name, what is broken, and in which file.\n"
      "struct Planted {\n  const char *name, *sentence, *file;\n};\n"
      "inline constexpr Planted kPlanted[] = {\n";
  for (const Fault& fault : faults)
    text += fmt::format("    {{\"{}\", R\"~({})~\",\n     \"{}\"}},\n", fault.name, fault.sentence, fault.file);
  return text + "};\n";
}

void run(const fs::path& source, const fs::path& output, const std::vector<std::string>& lists,
         const std::vector<std::string>& files) {
  std::vector<Fault> faults;
  for (const std::string& list : lists) read_list(list, faults);
  check(faults);
  for (const Fault& fault : faults)
    for (const Change& change : fault.changes)
      if (std::find(files.begin(), files.end(), change.file) == files.end())
        throw Error(fmt::format("{}: {} is not among the files that are copied", fault.place, change.file));
  std::vector<std::string> errors;
  for (const std::string& file : files) {
    const fs::path from = source / file;
    const std::string text = planted(file, text_of(from), faults, errors);
    write(output / file, fmt::format("#include <planted.h>\n#line 1 \"{}\"\n", from.string()) + text);
  }
  if (!errors.empty()) throw Error(fmt::format("{}", fmt::join(errors, "\n")));
  write(output / "planted_list.h", list_of(faults));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto middle = std::find(words.begin(), words.end(), "--");
  if (middle - words.begin() < 2 || middle == words.end()) {
    fmt::print(stderr, "usage: plant SOURCE OUTPUT X.fault... -- FILE...\n");
    return 2;
  }
  try {
    run(words[0], words[1], {words.begin() + 2, middle}, {middle + 1, words.end()});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

// canopy-contract: the suite that every implementation of an interface must pass, as a program.
//
//   canopy-contract [doctest's own options]            over the plugins next to it: what CTest runs
//   canopy-contract list FILE OURS SECONDS             the cases for a plugin
//   canopy-contract check FILE OURS SECONDS INTERFACE COMPONENT NUMBER      one case over one component
//
// `canopy plugins check` starts the last two, each in a separate process: if a plugin ends that process, this is a
// result, and no other process is harmed. OURS is the folder with the plugins for the other components. The results go
// to descriptor 3, because a plugin may print anything. `list` writes a line for each component and case,
// "INTERFACE<tab>COMPONENT<tab>NUMBER<tab>CASE". `check` writes why the case failed, or nothing, and then "passed" or
// "failed"; without that last line the process was stopped.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS  // a signal must end the process, so that its parent can report it
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <sstream>

namespace {

using namespace canopy;
using namespace canopy::test;

void answer(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t now = ::write(3, text.data() + done, text.size() - done);
    if (now < 0) return;
    done += static_cast<std::size_t>(now);
  }
}

std::string tested_component;

/// Returns the context of a failure, innermost last.
std::string circumstances() {
  std::string text;
  const auto add = [&](const std::string& one) {
    if (one != "name := " + tested_component) text += (text.empty() ? ": " : ", ") + one;
  };
  for (int i = 0; i < doctest::IReporter::get_num_active_contexts(); ++i) {
    std::ostringstream one;
    doctest::IReporter::get_active_contexts()[i]->stringify(&one);
    add(one.str());
  }
  return text;
}

/// Writes an error message for each failure.
struct Answers : doctest::IReporter {
  explicit Answers(const doctest::ContextOptions&) {}

  void log_assert(const doctest::AssertData& data) override {
    if (!data.m_failed) return;
    const std::string became = data.m_threw ? fmt::format("threw '{}'", data.m_exception.c_str())
                                            : fmt::format("is {}", data.m_decomp.c_str());
    say(fmt::format("{} {}{}", data.m_expr, became, circumstances()), data.m_file, data.m_line);
  }
  void log_message(const doctest::MessageData& data) override {
    say(data.m_string.c_str() + circumstances(), data.m_file, data.m_line);
  }
  void test_case_exception(const doctest::TestCaseException& data) override {
    answer(fmt::format("it threw: {}\n", data.error_string.c_str()));
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  static void say(std::string what, const char* file, int line) {
    while (what.ends_with('\n')) what.pop_back();
    answer(fmt::format("{} ({}:{})\n", what, std::filesystem::path(file).filename().string(), line));
  }
};
REGISTER_REPORTER("answers", 0, Answers);

/// Writes the cases of each component under test.
struct Listing final : Answers {
  using Answers::Answers;
  void report_query(const doctest::QueryData& query) override {
    for (const Offer* offer : offers_under_test()) {
      int number = 0;
      for (unsigned i = 0; i < query.num_data; ++i)
        if (offer->interface == query.data[i]->m_test_suite)
          answer(fmt::format("{}\t{}\t{}\t{}\n", offer->interface, offer->name, ++number, query.data[i]->m_name));
    }
  }
};
REGISTER_REPORTER("listing", 0, Listing);

int list(const std::string& file, const std::string& ours) {
  test_only({file, ours, ""});
  const char* const flags[] = {"canopy-contract", "--list-test-cases"};  // a flag without an option in Context
  doctest::Context context(2, flags);
  context.addFilter("reporters", "listing");
  return context.run();
}

int check(const std::string& file, const std::string& ours, const char* interface, const std::string& component,
          int number) {
  test_only({file, ours, component});
  tested_component = component;
  doctest::Context context;
  context.addFilter("reporters", "answers");
  context.addFilter("test-suite", interface);
  context.setOption("first", number);
  context.setOption("last", number);
  context.setOption("abort-after", 1);
  const bool failed = context.run() != 0;
  answer(failed ? "failed\n" : "passed\n");
  return failed;
}

template <class Number>
bool read(std::string_view text, Number& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ptr == text.data() + text.size();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  unsigned seconds = 0;
  int number = 0;
  if (argc > 4 && read(argv[4], seconds)) {
    ::alarm(seconds);  // has no handler, so it ends the process, whatever a plugin is doing
    if (verb == "list" && argc == 5) return list(argv[2], argv[3]);
    if (verb == "check" && argc == 8 && read(argv[7], number)) return check(argv[2], argv[3], argv[5], argv[6], number);
  }
  return doctest::Context(argc, argv).run();
}

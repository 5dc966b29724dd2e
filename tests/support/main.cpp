#include "sanitizers.h"
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS  // doctest's handlers would take a crash from the sanitizer, which prints its
                                         // stack
#endif
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

namespace {

/// Prints the test cases that failed, and why, just before the totals. An exception, a signal or a time limit fails a
/// case without a failed assertion, and the totals do not name it.
class Reasons final : public doctest::IReporter {
 public:
  explicit Reasons(const doctest::ContextOptions& /*options*/) {}
  void test_case_start(const doctest::TestCaseData& data) override { name_ = data.m_name, what_.clear(); }
  void test_case_exception(const doctest::TestCaseException& thrown) override {
    what_ = (thrown.is_crash ? ": a signal: " : ": an exception: ") + std::string(thrown.error_string.c_str());
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (stats.failure_flags == doctest::TestCaseFailureReason::None) return;
    all_ += "failed: " + name_ + what_;
    if ((stats.failure_flags & doctest::TestCaseFailureReason::Timeout) != 0) all_ += ": its time limit";
    all_ += "\n";
  }
  void test_run_end(const doctest::TestRunStats& /*stats*/) override { std::fputs(all_.c_str(), stdout); }
  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_start() override {}
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*one*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}

 private:
  std::string name_, what_, all_;
};

DOCTEST_REGISTER_LISTENER("reasons", 1, Reasons);

}  // namespace

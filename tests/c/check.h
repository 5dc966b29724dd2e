#ifndef CANOPY_TESTS_C_CHECK_H
#define CANOPY_TESTS_C_CHECK_H
/* Checks that go on after a failure. */
#include <canopy/c/canopy.h>

void check(int holds, const char* what, const char* file, int line);
/* Checks that a call fails with a code, and that its sentence has these words. */
void check_refused(canopy_code got, canopy_code expected, const char* words, const char* file, int line);
#define CHECK(holds) check((holds) != 0, #holds, __FILE__, __LINE__)
#define OK(call) CHECK((call) == CANOPY_OK)
#define REFUSED(call, code, words) check_refused((call), (code), (words), __FILE__, __LINE__)

canopy_engine* engine_of(const char* yaml, canopy_registry* registry);
canopy_request* begin(canopy_engine* engine, const uint32_t* prompt, size_t tokens);
canopy_request_state look(const canopy_request* request);
uint64_t digest(const canopy_engine* engine);
void fill(uint32_t* tokens, size_t count, uint32_t from);

/* Returns the number of checks that failed. */
int contract(void);
void test_policy(void);
void test_index(void);
void test_feed(void);
void test_scheduling(void);
void test_tenants(void);
#endif

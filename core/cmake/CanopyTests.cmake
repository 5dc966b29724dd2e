include(doctest)

# Each test case of a program is one CTest test.
function(canopy_discover program label)
  doctest_discover_tests(${program} TEST_PREFIX "${label}: "
    PROPERTIES TIMEOUT 300 LABELS ${label} FAIL_REGULAR_EXPRESSION "test cases:[ ]+0 "
               SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endfunction()

/* The contract as a program that no C++ is compiled into. */
#include <stdio.h>

#include "check.h"

int main(void) {
  const int failed = contract();
  printf("%d checks failed\n", failed);
  return failed ? 1 : 0;
}

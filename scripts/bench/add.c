/* add.c: what one untracked add of two 1-element tensors costs from C.
 * Prints "add X ns". */
#include <stdio.h>
#include <time.h>

#include "ops/ops.h"

enum { ROUNDS = 9, TIMES = 100000 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(void) {
  Context *c = context_open(SIZE_MAX, 1);
  Tensor *x = NULL, *r = NULL;
  const int64_t one = 1;
  double best = 1;
  if (c == NULL || op_full(c, &c->host, DTYPE_F32, 1, &one, 1, &x) != OK)
    return 1;
  for (int round = 0; round < ROUNDS; round++) {
    const double from = seconds();
    for (int i = 0; i < TIMES; i++) {
      if (op_binary(c, OP_add, x, x, &r) != OK) return 1;
      tensor_release(c, r);
    }
    const double each = (seconds() - from) / TIMES;
    if (each < best) best = each;
  }
  printf("add %.0f ns\n", best * 1e9);
  tensor_release(c, x);
  context_close(c);
  return 0;
}

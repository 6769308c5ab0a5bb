/* fold_type.h: rows/fold.def as device functions of one type T.
 *
 * Define T, LOWEST and HIGHEST, and give the words their meaning before.
 * The fold is chosen at run time, alike for all threads of a launch.
 * No include guard: once per type; reduce.cu alone reads it.
 */
#define BY by
static __device__ T fold_start(int fold, T) {
  switch (fold) {
#define FOLD(name, start, step, enter) \
  case FOLD_##name:                    \
    return start;
#include "rows/fold.def"
  }
  return 0;
}

static __device__ T fold_enter(int fold, T x, T by) {
  switch (fold) {
#define FOLD(name, start, step, enter) \
  case FOLD_##name:                    \
    return enter;
#include "rows/fold.def"
  }
  return (void)by, x;
}

static __device__ T fold_step(int fold, T r, T x) {
  switch (fold) {
#define FOLD(name, start, step, enter) \
  case FOLD_##name:                    \
    return step;
#include "rows/fold.def"
  }
  return r;
}
#undef BY
#undef T
#undef LOWEST
#undef HIGHEST

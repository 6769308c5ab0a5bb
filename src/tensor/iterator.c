/* iterator.c: see iterator.h. */
#include "tensor/iterator.h"

void iter_open(Iter *it, const Shape *sizes) {
  it->axes = sizes->rank;
  it->operands = 0;
  for (int i = 0; i < sizes->rank; i++) it->size[i] = sizes->size[i];
}

int iter_add(Iter *it, const Shape *operand) {
  assert(it->operands < ITER_OPERANDS && operand->rank <= it->axes);
  int64_t *stride = it->stride[it->operands];
  const int more = it->axes - operand->rank;
  for (int i = 0; i < it->axes; i++) {
    const int k = i - more;
    const bool walks = k >= 0 && operand->size[k] == it->size[i];
    stride[i] = walks && it->size[i] != 1 ? operand->stride[k] : 0;
  }
  return it->operands++;
}

/* Can axis `a` be walked as a continuation of axis `b` behind it? */
static bool fuses(const Iter *it, int a, int b) {
  for (int k = 0; k < it->operands; k++)
    if (it->stride[k][a] != it->size[b] * it->stride[k][b]) return false;
  return true;
}

static void move_axis(Iter *it, int from, int to) {
  it->size[to] = it->size[from];
  for (int k = 0; k < it->operands; k++)
    it->stride[k][to] = it->stride[k][from];
}

void iter_fuse(Iter *it, int least) {
  int kept = 0;
  for (int i = 0; i < it->axes; i++) {
    if (it->size[i] == 1) continue;
    if (kept > 0 && fuses(it, kept - 1, i)) {
      const int64_t size = it->size[kept - 1] * it->size[i];
      move_axis(it, i, kept - 1);
      it->size[kept - 1] = size;
    } else {
      move_axis(it, i, kept++);
    }
  }
  for (; kept < least; kept++) {
    it->size[kept] = 1;
    for (int k = 0; k < it->operands; k++) it->stride[k][kept] = 0;
  }
  it->axes = kept;
}

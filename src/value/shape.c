/* shape.c: see shape.h. */
#include "value/shape.h"

#include <string.h>

int64_t shape_count(const Shape *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++) count *= s->size[i];
  return count;
}

bool shape_fits(const Shape *s, size_t bytes) {
  int64_t count = (int64_t)bytes;
  if (s->rank < 0 || s->rank > MAX_RANK) return false;
  for (int i = 0; i < s->rank; i++) {
    if (s->size[i] < 0) return false;
    if (s->size[i] > 0 && !checked_mul(count, s->size[i], &count)) return false;
  }
  return count <= PTRDIFF_MAX;
}

void shape_contiguous(Shape *s) {
  int64_t stride = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    s->stride[i] = stride;
    if (s->size[i] > 1) stride *= s->size[i];
  }
}

Shape shape_of(int rank, const int64_t *size) {
  Shape s;
  assert(rank >= 0 && rank <= MAX_RANK);
  s.rank = rank;
  for (int i = 0; i < rank; i++) s.size[i] = size[i];
  shape_contiguous(&s);
  return s;
}

bool shape_is_contiguous(const Shape *s) {
  int64_t stride = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    if (s->size[i] == 0) return true;
    if (s->size[i] == 1) continue;
    if (s->stride[i] != stride) return false;
    stride *= s->size[i];
  }
  return true;
}

bool shape_same(const Shape *a, const Shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->size[i] != b->size[i]) return false;
  return true;
}

bool shape_overlaps_itself(const Shape *s) {
  bool done[MAX_RANK] = {false};
  int64_t reach = 1; /* elements spanned by the axes taken so far */
  for (int i = 0; i < s->rank; i++)
    if (s->size[i] == 0) return false;
  for (int taken = 0; taken < s->rank; taken++) {
    int axis = -1; /* the smallest stride that is left */
    for (int i = 0; i < s->rank; i++)
      if (!done[i] && (axis < 0 || s->stride[i] < s->stride[axis])) axis = i;
    done[axis] = true;
    if (s->size[axis] == 1) continue;
    if (s->stride[axis] < reach) return true;
    reach += (s->size[axis] - 1) * s->stride[axis];
  }
  return false;
}

int64_t shape_reach(const Shape *s) {
  int64_t last = 0;
  for (int i = 0; i < s->rank; i++) {
    if (s->size[i] == 0) return 0;
    last += (s->size[i] - 1) * s->stride[i];
  }
  return last + 1;
}

bool shape_broadcast(Shape *r, const Shape *s, int *axis) {
  Shape out;
  out.rank = r->rank > s->rank ? r->rank : s->rank;
  for (int i = 0; i < out.rank; i++) { /* counted from the last axis */
    const int64_t a = i < r->rank ? r->size[r->rank - 1 - i] : 1;
    const int64_t b = i < s->rank ? s->size[s->rank - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) {
      *axis = i;
      return false;
    }
    out.size[out.rank - 1 - i] = a == 1 ? b : a;
  }
  r->rank = out.rank;
  memcpy(r->size, out.size, (size_t)out.rank * sizeof *out.size);
  return true;
}

bool shape_expand(const Shape *s, const Shape *to, Shape *r) {
  const int more = to->rank - s->rank;
  if (more < 0) return false;
  Shape out;
  out.rank = to->rank;
  for (int i = 0; i < to->rank; i++) {
    const int64_t size = i < more ? 1 : s->size[i - more];
    if (size != to->size[i] && size != 1) return false;
    out.size[i] = to->size[i];
    out.stride[i] = size == to->size[i] && i >= more ? s->stride[i - more] : 0;
  }
  *r = out;
  return true;
}

/* Splits both shapes into the shortest runs of equal count (API.md 4).  In a
 * run the old axes must be walked by one stride. */
bool shape_reshape(const Shape *s, Shape *r) {
  Shape old; /* s without axes of size 1 */
  old.rank = 0;
  for (int i = 0; i < s->rank; i++) {
    if (s->size[i] == 1) continue;
    old.size[old.rank] = s->size[i];
    old.stride[old.rank++] = s->stride[i];
  }
  shape_contiguous(r);
  if (shape_count(s) == 0) return true;
  int i = 0, j = 0;
  while (i < old.rank && j < r->rank) {
    const int from = i, first = j;
    int64_t a = old.size[i++], b = r->size[j++];
    while (a != b) {
      if (a < b) a *= old.size[i++];
      else b *= r->size[j++];
    }
    for (int k = from; k + 1 < i; k++)
      if (old.stride[k] != old.size[k + 1] * old.stride[k + 1]) return false;
    int64_t stride = old.stride[i - 1];
    for (int k = j - 1; k >= first; k--) {
      r->stride[k] = stride;
      stride *= r->size[k];
    }
  }
  return true;
}

void shape_drop(Shape *s, int axis) {
  s->rank--;
  for (int i = axis; i < s->rank; i++) {
    s->size[i] = s->size[i + 1];
    s->stride[i] = s->stride[i + 1];
  }
}

void shape_insert(Shape *s, int axis, int64_t size, int64_t stride) {
  assert(s->rank < MAX_RANK);
  for (int i = s->rank; i > axis; i--) {
    s->size[i] = s->size[i - 1];
    s->stride[i] = s->stride[i - 1];
  }
  s->rank++;
  s->size[axis] = size;
  s->stride[axis] = stride;
}

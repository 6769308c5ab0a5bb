/* windows.h: what convolutions and pools share: windows along the last axes.
 *
 * A call has 1 to 3 such axes.  They are the last of SPACE axes that a job
 * counts; before them the size, the kernel and the stride are 1.
 * Must not know: what is done with a window.
 */
#ifndef TENSUS_WINDOWS_H
#define TENSUS_WINDOWS_H

#include "ops/run.h"

/* before, after: padding.  size: of what the windows move over. */
typedef struct Windows {
  int axes;
  int64_t size[SPACE], kernel[SPACE], stride[SPACE], dilation[SPACE];
  int64_t before[SPACE], after[SPACE], result[SPACE];
} Windows;

/* Of `axes` axes, all numbers those of an axis that is not there. */
Windows windows_of(int axes);

/* to[] = param k, one number or one for each axis, from `least` on and below
 * 2^31; rewritten as sizes.  `code`; E_TYPE for another count of numbers. */
Status windows_tuple(Context *c, OpId op, Args *a, int k, int64_t least,
                     Status code, Windows *w, int64_t to[SPACE]);

/* Params `stride`, `padding` and (unless 0) `dilation`; w->kernel is set.
 * Where the row offers words, padding may be "valid" (none), "same" (as many
 * results as places; E_PADDING unless the stride is 1), or two numbers for each
 * axis: all before, then all after.  E_STRIDE, E_PADDING, E_DILATION, E_KERNEL. */
Status windows_options(Context *c, OpId op, Args *a, int stride, int padding,
                       int dilation, Windows *w);

/* How many places a window reaches over. */
INLINE int64_t windows_reach(const Windows *w, int axis) {
  return w->dilation[axis] * (w->kernel[axis] - 1) + 1;
}

/* w->result = floor((size + padding - reach) / stride) + 1 on each axis.
 * E_KERNEL_TOO_BIG when that is none. */
Status windows_count(Context *c, Windows *w);

/* *r = x as contiguous {batch, channels, last axes} in the dtype that it
 * computes in; x may lack the batch.  E_RANK. */
Status windows_operand(Context *c, const char *name, Tensor *x, int axes,
                       Tensor **r);

/* to[] = the last sizes of s, 1 before them. */
void windows_sizes(const Shape *s, int axes, int64_t to[SPACE]);

/* {lead sizes, the last `axes` of size[]}: contiguous. */
Shape windows_shape(int lead, const int64_t *lead_size, int axes,
                    const int64_t size[SPACE]);

/* The entries of an op's arrays that a caller sees. */
INLINE const int64_t *windows_last(int axes, const int64_t at[SPACE]) {
  return at + SPACE - axes;
}

#endif

/* grad.h: both readings of the graph.
 *
 * Backward walks a worklist, never the stack; frees saved values as it goes;
 * and changes no `.grad` unless all of it has succeeded.
 * Must not know: kernels, Lua.
 */
#ifndef TENSUS_GRAD_H
#define TENSUS_GRAD_H

#include "ops/ops.h"

/* y:backward(seed): adds dL/dleaf to the gradient of every leaf that y
 * depends on (and of results that retain theirs).  seed NULL: y has one
 * element.  `retain`: the graph may be used again.
 * Errors: E_NO_GRAPH, E_SHAPE, E_FREED, E_MODIFIED, E_MEMORY, E_INTERRUPTED;
 * no gradient has changed then. */
Status grad_backward(Context *c, Tensor *y, Tensor *seed, bool retain);

/* What to give for an input that no output depends on. */
typedef enum Unused { UNUSED_ERROR, UNUSED_ZERO, UNUSED_NONE } Unused;

/* gx[i] = sum over outputs of the pull of seeds[k] to x[i]: new references,
 * the caller's (NULL with UNUSED_NONE).  seeds[k] NULL: y[k] has one element.
 * `create`: the results are tracked themselves.  No `.grad` is touched. */
Status grad_of(Context *c, int outputs, Tensor *const *y,
               Tensor *const *seeds, int inputs, Tensor *const *x, bool retain,
               bool create, Unused unused, Tensor **gx);

/* ty[k] = the push of the tangents tx[i] of x[i] through the recorded graph to
 * y[k]; zeros where y[k] does not depend on any.  Tracked when recording.  The
 * graph stays. */
Status grad_push(Context *c, int inputs, Tensor *const *x, Tensor *const *tx,
                 int outputs, Tensor *const *y, Tensor **ty);

/* The gradient of a leaf, or retained: borrowed, NULL if there is none. */
Tensor *grad_get(const Tensor *t);

/* Take g (NULL: none) as the gradient of t; shapes, dtypes, devices must
 * agree.  E_SHAPE, E_DTYPE, E_DEVICE, E_NO_GRAPH when t is untracked. */
Status grad_set(Context *c, Tensor *t, Tensor *g);

/* t becomes a leaf that requires grad, or (`on` false) stops being one.
 * E_DTYPE for integers; E_STATE to turn off a result of an op. */
Status grad_require(Context *c, Tensor *t, bool on);

/* Keep the gradient of a result. */
Status grad_retain(Context *c, Tensor *t);

#endif

/* update_type.h: optimiser steps for REAL; read twice by update_level.c.
 *
 * Numbers of a step are made in double and rounded once.
 */

/* g = grad + decay p; false: no term of p, so an infinite p does no harm. */
INLINE REAL FN(decayed)(bool decays, REAL decay, REAL p, REAL g) {
  return decays ? g + decay * p : g;
}

INLINE void FN(sgd_plain)(bool decays, const Sgd *s, int64_t first,
                          int64_t last) {
  REAL *restrict p = (REAL *)(void *)s->p;
  const REAL *restrict g = (const REAL *)(const void *)s->g;
  const REAL lr = (REAL)s->lr, decay = (REAL)s->decay;
  for (int64_t i = first; i < last; i++)
    p[i] -= lr * FN(decayed)(decays, decay, p[i], g[i]);
}

INLINE void FN(sgd_buffered)(bool decays, bool start, bool nesterov,
                             const Sgd *s, int64_t first, int64_t last) {
  REAL *restrict p = (REAL *)(void *)s->p;
  REAL *restrict buffer = (REAL *)(void *)s->buffer;
  const REAL *restrict grad = (const REAL *)(const void *)s->g;
  const REAL lr = (REAL)s->lr, decay = (REAL)s->decay;
  const REAL momentum = (REAL)s->momentum;
  const REAL fresh = (REAL)(1 - s->dampening);
  for (int64_t i = first; i < last; i++) {
    const REAL g = FN(decayed)(decays, decay, p[i], grad[i]);
    const REAL kept = start ? g : momentum * buffer[i] + fresh * g;
    buffer[i] = kept;
    p[i] -= lr * (nesterov ? g + momentum * kept : kept);
  }
}

static void FN(sgd)(const Sgd *s, int64_t first, int64_t last) {
  const bool decays = s->decay != 0;
  if (s->buffer == NULL) {
    if (decays) FN(sgd_plain)(true, s, first, last);
    else FN(sgd_plain)(false, s, first, last);
  } else if (s->first) {
    FN(sgd_buffered)(decays, true, s->nesterov, s, first, last);
  } else if (s->nesterov) {
    FN(sgd_buffered)(decays, false, true, s, first, last);
  } else {
    FN(sgd_buffered)(decays, false, false, s, first, last);
  }
}

typedef struct FN(AdamNumbers) {
  REAL beta1, beta2, fresh1, fresh2, step, root, eps, decay, keep;
} FN(AdamNumbers);

static FN(AdamNumbers) FN(adam_numbers)(const Adam *a) {
  const double t = (double)a->step;
  const double left1 = 1 - pow(a->beta1, t), left2 = 1 - pow(a->beta2, t);
  return (FN(AdamNumbers)){(REAL)a->beta1, (REAL)a->beta2,
                           (REAL)(1 - a->beta1), (REAL)(1 - a->beta2),
                           (REAL)(a->lr / left1), (REAL)(1 / sqrt(left2)),
                           (REAL)a->eps, (REAL)a->decay,
                           (REAL)(1 - a->lr * a->decay)};
}

INLINE void FN(adam_loop)(bool decays, bool shrinks, const Adam *a,
                          int64_t first, int64_t last) {
  const FN(AdamNumbers) k = FN(adam_numbers)(a);
  REAL *restrict p = (REAL *)(void *)a->p;
  REAL *restrict m = (REAL *)(void *)a->m;
  REAL *restrict v = (REAL *)(void *)a->v;
  const REAL *restrict grad = (const REAL *)(const void *)a->g;
  for (int64_t i = first; i < last; i++) {
    const REAL g = FN(decayed)(decays, k.decay, p[i], grad[i]);
    const REAL was = shrinks ? p[i] * k.keep : p[i];
    const REAL m1 = k.beta1 * m[i] + k.fresh1 * g;
    const REAL v1 = k.beta2 * v[i] + k.fresh2 * (g * g);
    m[i] = m1, v[i] = v1;
    p[i] = was - k.step * m1 / (CFN(sqrt)(v1) * k.root + k.eps);
  }
}

static void FN(adam)(const Adam *a, int64_t first, int64_t last) {
  if (a->decay == 0) FN(adam_loop)(false, false, a, first, last);
  else if (a->decoupled) FN(adam_loop)(false, true, a, first, last);
  else FN(adam_loop)(true, false, a, first, last);
}

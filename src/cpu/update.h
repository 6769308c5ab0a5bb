/* update.h: the loops of optimiser steps. */
#ifndef TENSUS_UPDATE_H
#define TENSUS_UPDATE_H

#include "device/backend.h"

/* Elements [first, last). */
typedef void SgdLoop(const Sgd *s, int64_t first, int64_t last);
typedef void AdamLoop(const Adam *a, int64_t first, int64_t last);

typedef struct UpdateLevel {
  SgdLoop *sgd[2]; /* f32, f64 */
  AdamLoop *adam[2];
} UpdateLevel;

extern const UpdateLevel update_base, update_avx2, update_avx512;

#endif

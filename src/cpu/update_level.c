/* update_level.c: optimiser steps at one level; nothing is fused, so all
 * levels give the same bits.  Must not know: threads. */
#include "cpu/update.h"

#include <math.h>

#define REAL float
#define FN(name) name##_f32
#define CFN(name) name##f
#include "cpu/update_type.h"
#undef REAL
#undef FN
#undef CFN
#define REAL double
#define FN(name) name##_f64
#define CFN(name) name
#include "cpu/update_type.h"

#define TABLE_OF(level) update_##level
#define TABLE(level) TABLE_OF(level)
const UpdateLevel TABLE(LEVEL) = {{sgd_f32, sgd_f64}, {adam_f32, adam_f64}};

/* check.h: asserts, attributes and checked size arithmetic.
 *
 * An assert guards what only a bug of ours can break; input is checked with
 * `fail` (status.h).  Must not know: anything but the C language.
 */
#ifndef TENSUS_CHECK_H
#define TENSUS_CHECK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define INLINE __attribute__((always_inline, unused)) static inline
#define FORMAT_FREE __attribute__((cold))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#else
#define INLINE static inline
#define FORMAT_FREE
#define LIKELY(x) (x)
#endif

/* The place of the lowest bit of a set that is not empty. */
INLINE int lowest_bit(uint64_t set) {
  assert(set != 0);
#if defined(__GNUC__)
  return __builtin_ctzll(set);
#else
  int i = 0;
  while ((set >> i & 1) == 0) i++;
  return i;
#endif
}

/* Costly invariants (walks over graphs and lists): debug builds only. */
#if defined(TENSUS_SLOW_CHECKS)
#define assert_slow(claim) assert(claim)
#else
#define assert_slow(claim) ((void)0)
#endif

/* "Cannot happen": stops a debug build, returns safely in release. */
INLINE bool never(bool claim) {
  assert(!claim);
  return claim;
}

/* *r = a * b for a, b >= 0; false when that does not fit. */
INLINE bool checked_mul(int64_t a, int64_t b, int64_t *r) {
  if (a != 0 && b > INT64_MAX / a) return false;
  *r = a * b;
  return true;
}

INLINE int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

/* ceil(a / b) for a >= 0, b > 0. */
INLINE int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

#endif

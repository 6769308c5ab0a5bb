/* check.h: a test harness in a page: counts, and says what failed.
 *
 *   static void test_product(void) {
 *     int64_t r = 0;
 *     CHECK(checked_mul(3, 4, &r));
 *     CHECK_INT(r, 12);
 *     CHECK(r < 20, "r is %d", (int)r);
 *   }
 *   int main(void) {
 *     RUN(test_product);
 *     return check_report();
 *   }
 *
 * Every CHECK is worth its truth value: `if (!CHECK(p != NULL)) return;`.
 * The count line comes last, and a program that checked nothing has failed.
 * One thread only: a worker hands its findings to the caller.
 * Must not know: tensus.
 */
#ifndef SPEC_C_CHECK_H
#define SPEC_C_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_SHOWN = 20 }; /* failures printed; all are counted */

static int check_passed, check_failed;
static const char *check_test = "";

/* CHECK(claim) or CHECK(claim, "format", ...): the format is a literal. */
#define CHECK(claim, ...) \
  check_that((claim), __FILE__, __LINE__, #claim, " " __VA_ARGS__)

/* Integers, with both values in the message. */
#define CHECK_INT(got, want)                                     \
  check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, \
            #got " is " #want)

/* |got - want| <= within; equal infinities and two NaNs agree. */
#define CHECK_NEAR(got, want, within)                                   \
  check_near((double)(got), (double)(want), (double)(within), __FILE__, \
             __LINE__, #got " is near " #want)

#define CHECK_TEXT(got, want) \
  check_text((got), (want), __FILE__, __LINE__, #got " is " #want)

/* `part` stands somewhere in `text`: for messages. */
#define CHECK_FOUND(text, part) \
  check_found((text), (part), __FILE__, __LINE__, #text " has " #part)

/* Call a test function under its name. */
#define RUN(test) (check_test = #test, test(), check_test = "")

__attribute__((format(printf, 5, 6), unused)) static bool
check_that(bool ok, const char *file, int line, const char *claim,
           const char *format, ...) {
  if (ok) {
    check_passed++;
    return true;
  }
  if (check_failed++ < CHECK_SHOWN) {
    va_list rest;
    printf("FAILED %s:%d: %s%s%s", file, line, check_test,
           *check_test ? ": " : "", claim);
    va_start(rest, format);
    vprintf(format, rest);
    va_end(rest);
    printf("\n");
  }
  return false;
}

__attribute__((unused)) static bool check_int(int64_t got, int64_t want,
                                              const char *file, int line,
                                              const char *claim) {
  return check_that(got == want, file, line, claim,
                    ": got %" PRId64 ", not %" PRId64, got, want);
}

__attribute__((unused)) static bool check_near(double got, double want,
                                               double within, const char *file,
                                               int line, const char *claim) {
  bool ok =
      got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= within;
  return check_that(ok, file, line, claim, ": got %.17g, not %.17g", got, want);
}

__attribute__((unused)) static bool check_text(const char *got,
                                               const char *want,
                                               const char *file, int line,
                                               const char *claim) {
  bool ok = got != NULL && strcmp(got, want) == 0;
  return check_that(ok, file, line, claim, ": got \"%s\", not \"%s\"",
                    got ? got : "(NULL)", want);
}

__attribute__((unused)) static bool check_found(const char *text,
                                                const char *part,
                                                const char *file, int line,
                                                const char *claim) {
  bool ok = text != NULL && strstr(text, part) != NULL;
  return check_that(ok, file, line, claim, ": \"%s\" lacks \"%s\"",
                    text ? text : "(NULL)", part);
}

/* True in `make check`: leave the slow sweeps out. */
__attribute__((unused)) static bool check_fast(void) {
  const char *mode = getenv("TENSUS_CHECK");
  return mode != NULL && strcmp(mode, "fast") == 0;
}

/* A small generator in [0, 1): the same numbers on every machine. */
__attribute__((unused)) static double check_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

/* Prints the count line; the exit status of main. */
__attribute__((unused)) static int check_report(void) {
  if (check_failed > CHECK_SHOWN)
    printf("... and %d more\n", check_failed - CHECK_SHOWN);
  printf("%d passed, %d failed\n", check_passed, check_failed);
  return check_failed != 0 || check_passed == 0;
}

#endif

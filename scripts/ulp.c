/* ulp.c: every f32 input of the one-argument functions of rows/smath.h, at
 * every machine level, against the C library's double functions.
 *
 *   gcc -std=c11 -D_DEFAULT_SOURCE -O2 -ffp-contract=off -fno-math-errno \
 *     -fno-trapping-math -Isrc -Ispec/c scripts/ulp.c -o build/ulp -lm
 *   build/ulp [-p processes] [-s step] [-l level] [name ...]
 *   build/ulp -t [name ...]      nanoseconds per element instead
 *
 * A full sweep of one function takes a minute or so of one core.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SMATH_TABLES_ONLY
#include "smath_test.c"

enum { CHUNK = 4096, MAX_PROCESSES = 64 };

typedef struct Found {
  double ulp[LEVELS];
  float at[LEVELS];
  uint64_t above[LEVELS]; /* how many exceed the bound */
} Found;

/* ulps(0, got, want) where all is ordinary: the unit from want's exponent. */
static double quick_ulps(float got, double want) {
  uint64_t bits;
  double unit, smallest = 0x1p-149;
  memcpy(&bits, &want, sizeof bits);
  bits = (bits & 0x7ff0000000000000u) - ((uint64_t)23 << 52);
  memcpy(&unit, &bits, sizeof unit);
  double distance = fabs((double)got - want);
  bool ordinary = distance < INFINITY && fabs(want) > 0x1p-140 && got != 0;
  if (!ordinary) return ulps(0, (double)got, (long double)want);
  return distance / (unit > smallest ? unit : smallest);
}

static void sweep_chunk(int function, int only, uint64_t first, uint64_t step,
                        Found *found) {
  static float x[CHUNK], r[CHUNK];
  static double want[CHUNK];
  const Function *f = &functions[function];
  for (uint64_t i = 0; i < CHUNK; i++) {
    uint32_t bits = (uint32_t)(first + i * step);
    memcpy(&x[i], &bits, sizeof bits);
    want[i] = f->close((double)x[i], 0);
  }
  for (int l = 0; l < LEVELS; l++) {
    if (!levels[l].usable || (only >= 0 && only != l)) continue;
    levels[l].loops[function][0](CHUNK, x, x, r);
    for (size_t i = 0; i < CHUNK; i++) {
      if (fabs(want[i]) < f->least) continue;
      double u = quick_ulps(r[i], want[i]);
      if (u > f->bound) found->above[l]++;
      if (u > found->ulp[l]) found->ulp[l] = u, found->at[l] = x[i];
    }
  }
}

static void sweep(int function, int only, int processes, uint64_t step) {
  size_t bytes = sizeof(Found) * MAX_PROCESSES;
  Found *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) exit(1);
  for (int p = 0; p < processes; p++) {
    if (fork() != 0) continue;
    for (uint64_t first = (uint64_t)p * CHUNK * step; first < 1ull << 32;
         first += (uint64_t)processes * CHUNK * step)
      sweep_chunk(function, only, first, step, &found[p]);
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  printf("%-10s", functions[function].name);
  for (int l = 0; l < LEVELS; l++) {
    Found all = {0};
    for (int p = 0; p < processes; p++) {
      all.above[0] += found[p].above[l];
      if (found[p].ulp[l] <= all.ulp[0]) continue;
      all.ulp[0] = found[p].ulp[l], all.at[0] = found[p].at[l];
    }
    if (levels[l].usable && (only < 0 || only == l))
      printf("  %s %.3f at %a (%llu above)", levels[l].name, all.ulp[0],
             (double)all.at[0], (unsigned long long)all.above[0]);
  }
  printf("\n");
  fflush(stdout);
  (void)munmap(found, bytes);
}

/* ---- time ---- */

static double now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_loop(Loop *loop, const void *x, const void *y) {
  enum { N = 2048, REPEATS = 30, TRIES = 60 };
  static double r[N];
  double best = INFINITY;
  for (int t = 0; t < TRIES; t++) {
    double start = now_ns();
    for (int k = 0; k < REPEATS; k++) {
      loop(N, x, y, r);
      __asm__ volatile("" ::: "memory");
    }
    best = fmin(best, (now_ns() - start) / REPEATS / N);
  }
  return best;
}

static void time_function(int function) {
  static double x[2048], y[2048];
  const Function *f = &functions[function];
  double lo = fmax(f->lo, -20), hi = fmin(f->hi, 20);
  printf("%-10s", f->name);
  for (int type = 0; type < 2; type++) {
    uint64_t seed = 1;
    for (size_t i = 0; i < 2048; i++) {
      put(type, x, i, lo + (hi - lo) * check_random(&seed));
      put(type, y, i, lo + (hi - lo) * check_random(&seed));
    }
    for (int l = 0; l < LEVELS; l++)
      printf(" %7.2f", levels[l].usable
                           ? time_loop(levels[l].loops[function][type], x, y)
                           : (double)NAN);
    printf(type == 0 ? "  |" : "\n");
  }
}

/* ---- command line ---- */

static int level_index(const char *name) {
  for (int l = 0; l < LEVELS; l++)
    if (strcmp(levels[l].name, name) == 0) return l;
  return -1;
}

static bool chosen(int function, char **names) {
  for (char **n = names; *n != NULL; n++)
    if (strcmp(*n, functions[function].name) == 0) return true;
  return *names == NULL;
}

int main(int argc, char **argv) {
  int processes = 2, only = -1, option;
  bool timing = false;
  uint64_t step = 1;
  find_levels();
  while ((option = getopt(argc, argv, "p:s:l:t")) != -1) {
    if (option == 'p')
      processes = atoi(optarg);
    else if (option == 's')
      step = strtoull(optarg, NULL, 10);
    else if (option == 'l')
      only = level_index(optarg);
    else if (option == 't')
      timing = true;
    else
      return 2;
  }
  if (processes < 1 || processes > MAX_PROCESSES || step < 1) return 2;
  for (int f = 0; f < FUNCTION_COUNT; f++) {
    if (!chosen(f, argv + optind)) continue;
    if (timing)
      time_function(f);
    else if (!functions[f].two && functions[f].bound != NO_BOUND)
      sweep(f, only, processes, step);
  }
  return 0;
}

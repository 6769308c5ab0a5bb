/* launch.cpp: runs a launch without a GPU.
 *
 * Block after block, the threads of a block as fibers, each until its next
 * meeting point, in the order LAUNCH_ORDER says.  Defined here, and reported
 * instead of hung or let pass:
 *   - a __syncthreads that some thread of the block never reaches, because
 *     it returned or waits elsewhere (another line counts as elsewhere);
 *   - a shuffle whose named lanes do not all come, at the same line, or
 *     whose caller does not name itself.
 * Shared memory is filled with ones (NaN, -1) before every block, and a lane
 * that takes no part in a shuffle is read as ones too.
 * Not seen: races that a barrier-free GPU would show between two meeting
 * points of threads in one warp, missing fences, misaligned access.
 */
#include "../launch.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fake.h"
#include "fiber.h"

const uint3 *launch_thread_index;
uint3 launch_block_index;
dim3 launch_grid, launch_block;
void *launch_dynamic;

/* The linker puts every __shared__ variable between these two. */
#define SECTION_END __attribute__((weak, visibility("hidden")))
extern "C" char __start_launch_shared[] SECTION_END;
extern "C" char __stop_launch_shared[] SECTION_END;

namespace {

enum State { READY, BARRIER, SHUFFLE, DONE };

struct Thread {
  Fiber fiber;
  uint3 index;
  State state;
  const char *file; /* where it waits */
  int line;
  unsigned mask;
  unsigned long long offer, got[32];
};

enum {
  STACK_BYTES = 256 << 10, /* sanitizers want room; untouched pages are free */
  MAX_THREADS = 1024,      /* CUDA's limits for a block: threads, ... */
  MAX_DEPTH = 64,          /* ... its z size, */
  MAX_SHARED_BYTES = 48 << 10, /* and memory without opting in to more */
  MAX_ROWS = 65535             /* y and z size of a grid */
};

std::vector<Thread> threads; /* reserved whole: fibers must not move */
int active;                  /* threads of the running block */
Thread *self;                /* the running thread */
const LaunchPlan *running;

void thread_main() {
  for (;;) {
    running->call();
    self->state = DONE;
    fiber_yield(&self->fiber);
  }
}

void wait_here(State state, const char *file, int line) {
  self->state = state;
  self->file = file;
  self->line = line;
  fiber_yield(&self->fiber);
}

bool same_place(const Thread &a, const Thread &b) {
  return a.state == b.state && a.line == b.line && a.file == b.file;
}

int warp_first(const Thread *t) {
  return static_cast<int>(t - threads.data()) / 32 * 32;
}

/* Lets the lanes waiting with t go, if none of those named is missing.  A
 * lane that does not name itself is never let go, and so reported. */
bool release_shuffle(const Thread *t) {
  int first = warp_first(t);
  if (!(t->mask >> (t - &threads[first]) & 1)) return false;
  unsigned long long offers[32];
  memset(offers, 0xff, sizeof offers);
  for (int lane = 0; lane < 32 && first + lane < active; lane++) {
    const Thread *other = &threads[first + lane];
    if (!(t->mask >> lane & 1) || other->state == DONE) continue;
    if (!same_place(*other, *t) || other->mask != t->mask) return false;
    offers[lane] = other->offer;
  }
  for (int lane = 0; lane < 32 && first + lane < active; lane++) {
    Thread *other = &threads[first + lane];
    if (!(t->mask >> lane & 1) || other->state == DONE) continue;
    memcpy(other->got, offers, sizeof offers);
    other->state = READY;
  }
  return true;
}

bool release_barrier() {
  for (int i = 0; i < active; i++)
    if (threads[i].state != BARRIER || !same_place(threads[i], threads[0]))
      return false;
  for (int i = 0; i < active; i++) threads[i].state = READY;
  return true;
}

/* Lanes whose last partner has left the kernel still wait: let them go. */
bool release_any_shuffle() {
  for (int i = 0; i < active; i++)
    if (threads[i].state == SHUFFLE && release_shuffle(&threads[i]))
      return true;
  return false;
}

/* Names each place where threads wait once, by its first thread. */
void report_stuck() {
  int left = 0;
  for (int i = 0; i < active; i++) left += threads[i].state == DONE;
  fprintf(stderr,
          "launch: %s, block (%u, %u, %u): divergent threads: ", running->name,
          blockIdx.x, blockIdx.y, blockIdx.z);
  fprintf(stderr, "%d of %d have left the kernel", left, active);
  for (int i = 0; i < active; i++) {
    const Thread &t = threads[i];
    bool told = t.state == DONE;
    for (int k = 0; k < i; k++) told |= same_place(threads[k], t);
    if (told) continue;
    fprintf(stderr, "; thread %d waits at %s:%d (%s)", i, t.file, t.line,
            t.state == BARRIER ? "__syncthreads" : "warp shuffle");
  }
  fprintf(stderr, "\n");
}

void place(Thread *t, int i) {
  unsigned x = launch_block.x, y = launch_block.y;
  unsigned at = static_cast<unsigned>(i);
  t->index = {at % x, at / x % y, at / x / y};
  t->state = READY;
}

/* Runs every ready thread to its next meeting point; false if none was. */
bool pass(std::vector<int> &order) {
  bool moved = false;
  fake_permute(order);
  for (int i : order) {
    Thread *t = &threads[i];
    if (t->state != READY) continue;
    moved = true;
    self = t;
    launch_thread_index = &t->index;
    fiber_resume(&t->fiber);
  }
  return moved;
}

bool run_block(size_t bytes) {
  std::vector<int> order(active);
  if (__start_launch_shared)
    memset(__start_launch_shared, 0xff,
           __stop_launch_shared - __start_launch_shared);
  memset(launch_dynamic, 0xff, bytes);
  for (int i = 0; i < active; i++) place(&threads[i], i);
  do {
    while (pass(order)) {
    }
  } while (release_any_shuffle() || release_barrier());
  for (int i = 0; i < active; i++)
    if (threads[i].state != DONE) return report_stuck(), false;
  return true;
}

bool open_threads(size_t count) {
  threads.reserve(MAX_THREADS);
  while (threads.size() < count) {
    Thread fresh = {};
    if (!fiber_open(&fresh.fiber, STACK_BYTES)) return false;
    threads.push_back(fresh);
    fiber_start(&threads.back().fiber, thread_main);
  }
  return true;
}

cudaError_t run(const LaunchPlan &plan) {
  size_t count = size_t{plan.block.x} * plan.block.y * plan.block.z;
  if (!open_threads(count)) return cudaErrorMemoryAllocation;
  running = &plan;
  launch_grid = plan.grid;
  launch_block = plan.block;
  launch_dynamic = malloc(plan.bytes ? plan.bytes : 1);
  if (!launch_dynamic) return cudaErrorMemoryAllocation;
  active = static_cast<int>(count);
  std::vector<int> blocks(size_t{plan.grid.x} * plan.grid.y * plan.grid.z);
  fake_permute(blocks);
  bool ok = true;
  for (unsigned b : blocks) {
    blockIdx = {b % gridDim.x, b / gridDim.x % gridDim.y,
                b / gridDim.x / gridDim.y};
    ok = ok && run_block(plan.bytes);
  }
  for (int i = 0; !ok && i < active; i++)
    fiber_start(&threads[i].fiber, thread_main);
  free(launch_dynamic);
  return ok ? cudaSuccess : cudaErrorLaunchFailure;
}

bool plan_valid(const LaunchPlan &plan) {
  const dim3 &g = plan.grid, &b = plan.block;
  size_t count = size_t{b.x} * b.y * b.z;
  return count >= 1 && count <= MAX_THREADS && b.z <= MAX_DEPTH &&
         plan.bytes <= MAX_SHARED_BYTES && g.x >= 1 && g.x <= 0x7fffffff &&
         g.y >= 1 && g.y <= MAX_ROWS && g.z >= 1 && g.z <= MAX_ROWS;
}

} // namespace

void launch_enqueue(LaunchPlan plan, cudaStream_t stream,
                    const LaunchPointers &pointers) {
  FakeLock lock(fake_mutex());
  if (!plan_valid(plan)) {
    fake_fail(cudaErrorInvalidConfiguration);
    return;
  }
  bool device = true;
  for (const void *p : pointers) device &= !p || fake_is_device(p, 0);
  if (!device)
    fprintf(stderr, "launch: %s: a pointer argument is not device memory\n",
            plan.name);
  fake_enqueue(stream, [plan, device] {
    return device ? run(plan) : cudaErrorIllegalAddress;
  });
}

void launch_barrier(const char *file, int line) {
  wait_here(BARRIER, file, line);
}

int launch_lane() { return static_cast<int>(self - threads.data()) % 32; }

void launch_exchange(unsigned mask, int source, void *value, size_t bytes,
                     const char *file, int line) {
  self->mask = mask;
  self->offer = 0;
  memcpy(&self->offer, value, bytes);
  self->state = SHUFFLE;
  self->file = file;
  self->line = line;
  if (!release_shuffle(self)) wait_here(SHUFFLE, file, line);
  memcpy(value, &self->got[source], bytes);
}

/* cudart.cpp: a CUDA runtime without a GPU, for tests.
 *
 *   - Device memory is PROT_NONE except while operations run, so a host
 *     access faults.  A block ends at an unreadable page and is filled with
 *     ones when new; the addresses of the last KEPT_FREED freed blocks stay
 *     unreadable too.
 *   - Nothing runs until something waits for it.  Then only the order that
 *     streams and events promise is kept; the rest is up to the adversary.
 *   - A failed operation makes every later call fail, as on a GPU.
 * Must not know: kernels.  An operation is a function that gives a status.
 */
#include "fake.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>

namespace {

using Clock = std::chrono::steady_clock;

struct Operation {
  std::function<cudaError_t()> work;
  std::vector<std::shared_ptr<Operation>> after;
  bool done = false;
  Clock::time_point finished;
};
using Op = std::shared_ptr<Operation>;

/*   base          at                 base + mapped
 *   | canary < 256 |  bytes  | canary < ALIGN |  guard page  | */
struct Block {
  char *base;
  size_t bytes, mapped;
};
using Blocks = std::map<uintptr_t, Block>;

} // namespace

struct CUstream_st {
  bool blocking; /* ordered with the null stream */
  Op last;
};

struct CUevent_st {
  Op op;
};

namespace {

struct Runtime {
  std::vector<Op> pending; /* oldest first: an order all waits allow */
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  CUstream_st null_stream{true, nullptr};
  Blocks live, freed;
  std::deque<uintptr_t> freed_order; /* keys of `freed`, oldest first */
  size_t used = 0;                   /* bytes of the live blocks */
  std::set<void *> pinned;
  cudaError_t last = cudaSuccess, sticky = cudaSuccess;
  bool running = false;
  ~Runtime();
};
Runtime rt;

enum {
  ALIGN = 256, /* as cudaMalloc promises */
  CANARY = 0xa5,
  KEPT_FREED = 4096 /* a process may have 65530 mappings */
};

size_t page_bytes() {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

void protect(int mode) {
  for (auto &[at, block] : rt.live) mprotect(block.base, block.mapped, mode);
  rt.running = mode != PROT_NONE;
}

/* ---- the scheduler ---- */

bool ready(const Op &op) {
  return std::all_of(op->after.begin(), op->after.end(),
                     [](const Op &a) { return a->done; });
}

void run(const Op &op) {
  rt.pending.erase(std::find(rt.pending.begin(), rt.pending.end(), op));
  if (rt.sticky == cudaSuccess && op->work) rt.sticky = op->work();
  op->done = true;
  op->finished = Clock::now();
  op->after.clear();
  op->work = nullptr;
}

/* Everything `goal` waits for, and itself; oldest first. */
std::vector<Op> needed(const Op &goal) {
  std::set<Operation *> wanted{goal.get()};
  std::vector<Op> chain;
  for (size_t i = rt.pending.size(); i-- > 0;) {
    const Op &op = rt.pending[i];
    if (!wanted.count(op.get())) continue;
    for (const Op &a : op->after) wanted.insert(a.get());
    chain.push_back(op);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/* One operation of the adversary's choice; false when none is pending. */
bool run_any() {
  std::vector<Op> can;
  std::copy_if(rt.pending.begin(), rt.pending.end(), std::back_inserter(can),
               ready);
  if (can.empty()) return false;
  size_t pick = fake_order() == FAKE_FORWARD   ? 0
                : fake_order() == FAKE_REVERSE ? can.size() - 1
                                               : fake_draw(can.size());
  run(can[pick]);
  return true;
}

cudaError_t sticky_error() {
  return rt.sticky ? fake_fail(rt.sticky) : cudaSuccess;
}

/* Device memory is open from the first operation of a wait to the last, as
 * no code of this thread runs in between: mprotect costs by touched page. */
template <typename F> cudaError_t while_open(F body) {
  if (!rt.pending.empty()) {
    protect(PROT_READ | PROT_WRITE);
    body();
    protect(PROT_NONE);
  }
  return sticky_error();
}

cudaError_t wait_for(const Op &goal) {
  if (!goal || goal->done) return sticky_error();
  return while_open([&] {
    if (fake_order() == FAKE_FORWARD)
      for (const Op &op : needed(goal)) run(op);
    while (!goal->done && run_any()) {
    }
  });
}

cudaError_t wait_for_all() {
  return while_open([] {
    while (run_any()) {
    }
  });
}

CUstream_st *stream_of(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy) return &rt.null_stream;
  return rt.streams.count(stream) ? stream : nullptr;
}

/* The null stream waits for all blocking streams, and they for it. */
Op append(CUstream_st *stream, std::function<cudaError_t()> work) {
  Op op = std::make_shared<Operation>();
  op->work = std::move(work);
  if (stream->last) op->after.push_back(stream->last);
  if (stream == &rt.null_stream) {
    for (CUstream_st *s : rt.streams)
      if (s->blocking && s->last) op->after.push_back(s->last);
  } else if (stream->blocking && rt.null_stream.last) {
    op->after.push_back(rt.null_stream.last);
  }
  rt.pending.push_back(op);
  return stream->last = op;
}

/* ---- faults and leaks ---- */

struct sigaction previous_fault;

bool near(const Blocks &blocks, uintptr_t at) {
  for (auto &[begin, b] : blocks)
    if (at + page_bytes() >= begin && at < begin + b.bytes + page_bytes())
      return true;
  return false;
}

bool inside(const Blocks &blocks, uintptr_t at) {
  auto next = blocks.upper_bound(at);
  return next != blocks.begin() &&
         at - std::prev(next)->first < std::prev(next)->second.bytes;
}

/* Says what a stray address was, then lets the signal do its work. */
void on_fault(int, siginfo_t *info, void *) {
  auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const char *what = nullptr;
  if (inside(rt.freed, at))
    what = "freed device memory";
  else if (inside(rt.live, at) && !rt.running)
    what = "device memory, from the host";
  else if (near(rt.live, at))
    what = "memory outside a device block";
  if (what) fprintf(stderr, "fake cudart: access to %s\n", what);
  sigaction(SIGSEGV, &previous_fault, nullptr);
}

void watch_faults() {
  static bool watching = false;
  if (watching) return;
  watching = true;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &previous_fault);
}

Runtime::~Runtime() {
  if (live.empty() && events.empty() && streams.empty()) return;
  fprintf(stderr,
          "fake cudart: left behind: %zu blocks (%zu bytes), %zu streams, "
          "%zu events\n",
          live.size(), used, streams.size(), events.size());
  if (getenv("FAKE_CUDA_STRICT")) _exit(66);
}

/* ---- blocks ---- */

size_t total_bytes() {
  const char *bytes = getenv("FAKE_CUDA_BYTES");
  return bytes ? strtoull(bytes, nullptr, 10) : size_t{16} << 30;
}

/* A block of ones between canaries, closed; NULL when there is no memory. */
char *open_block(size_t bytes, Block *block) {
  size_t page = page_bytes(), mapped = (bytes + page - 1) / page * page;
  if (mapped < bytes) return nullptr;
  void *base = mmap(nullptr, mapped + page, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  if (mprotect(base, mapped, PROT_READ | PROT_WRITE)) {
    munmap(base, mapped + page);
    return nullptr;
  }
  char *at = static_cast<char *>(base) + (mapped - bytes) / ALIGN * ALIGN;
  memset(base, CANARY, mapped);
  memset(at, 0xff, bytes);
  mprotect(base, mapped, PROT_NONE);
  *block = {static_cast<char *>(base), bytes, mapped};
  return at;
}

bool canaries_intact(uintptr_t at, const Block &b) {
  auto *begin = reinterpret_cast<unsigned char *>(b.base);
  auto *first = reinterpret_cast<unsigned char *>(at);
  auto intact = [](unsigned char c) { return c == CANARY; };
  return std::all_of(begin, first, intact) &&
         std::all_of(first + b.bytes, begin + b.mapped, intact);
}

/* Gives the pages back and keeps the addresses for a while. */
void retire(uintptr_t at, const Block &b) {
  mmap(b.base, b.mapped, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  rt.freed[at] = b;
  rt.freed_order.push_back(at);
  if (rt.freed_order.size() <= KEPT_FREED) return;
  Block oldest = rt.freed[rt.freed_order.front()];
  munmap(oldest.base, oldest.mapped + page_bytes());
  rt.freed.erase(rt.freed_order.front());
  rt.freed_order.pop_front();
}

/* Frees the live block at `at`, and says if something wrote around it. */
cudaError_t end_block(uintptr_t at) {
  Block block = rt.live[at];
  mprotect(block.base, block.mapped, PROT_READ);
  bool intact = canaries_intact(at, block);
  rt.live.erase(at);
  rt.used -= block.bytes;
  retire(at, block);
  if (intact) return cudaSuccess;
  fprintf(stderr, "fake cudart: written outside a block of %zu bytes\n",
          block.bytes);
  return cudaErrorIllegalAddress;
}

/* ---- copies ---- */

cudaError_t check_copy(const void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  if (bytes == 0 || kind == cudaMemcpyDefault) return cudaSuccess;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  bool d = fake_is_device(to, 0), s = fake_is_device(from, 0);
  bool want_d =
      kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool want_s =
      kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (d != want_d || s != want_s) return cudaErrorInvalidValue;
  if ((d && !fake_is_device(to, bytes)) || (s && !fake_is_device(from, bytes)))
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

} // namespace

/* ---- fake.h ---- */

std::recursive_mutex &fake_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

void fake_enqueue(cudaStream_t stream, std::function<cudaError_t()> work) {
  CUstream_st *s = stream_of(stream);
  if (s)
    append(s, std::move(work));
  else
    fake_fail(cudaErrorInvalidResourceHandle);
}

cudaError_t fake_fail(cudaError_t error) {
  if (error != cudaErrorNotReady) rt.last = error;
  return error;
}

bool fake_is_device(const void *at, size_t bytes) {
  auto p = reinterpret_cast<uintptr_t>(at);
  auto next = rt.live.upper_bound(p);
  if (next == rt.live.begin()) return false;
  auto &[begin, block] = *std::prev(next);
  size_t offset = p - begin;
  return offset < block.bytes && bytes <= block.bytes - offset;
}

void fake_reset() { rt.sticky = rt.last = cudaSuccess; }

size_t fake_live() { return rt.live.size(); }

/* ---- CUDA's interface ---- */

extern "C" {

cudaError_t cudaMalloc(void **out, size_t bytes) {
  FakeLock lock(fake_mutex());
  *out = nullptr;
  if (rt.sticky) return fake_fail(rt.sticky);
  if (bytes == 0) return cudaSuccess;
  watch_faults();
  Block block;
  size_t total = total_bytes();
  char *at = nullptr;
  if (rt.used <= total && bytes <= total - rt.used)
    at = open_block(bytes, &block);
  if (!at) return fake_fail(cudaErrorMemoryAllocation);
  rt.live[reinterpret_cast<uintptr_t>(at)] = block;
  rt.used += bytes;
  *out = at;
  return cudaSuccess;
}

cudaError_t cudaFree(void *at) {
  FakeLock lock(fake_mutex());
  if (!at) return cudaSuccess;
  cudaError_t error = wait_for_all();
  if (!rt.live.count(reinterpret_cast<uintptr_t>(at)))
    return fake_fail(cudaErrorInvalidValue);
  cudaError_t written = end_block(reinterpret_cast<uintptr_t>(at));
  return written ? fake_fail(written) : error;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) {
  *pool = nullptr; /* there is but one, and it keeps nothing */
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) {
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t) {
  return cudaMalloc(out, bytes);
}

/* The block lives until the stream gets there. */
cudaError_t cudaFreeAsync(void *at, cudaStream_t stream) {
  FakeLock lock(fake_mutex());
  auto key = reinterpret_cast<uintptr_t>(at);
  if (!at) return cudaSuccess;
  if (!rt.live.count(key)) return fake_fail(cudaErrorInvalidValue);
  fake_enqueue(stream, [=] {
    return rt.live.count(key) ? end_block(key) : cudaErrorInvalidValue;
  });
  return sticky_error();
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
  FakeLock lock(fake_mutex());
  *out = malloc(bytes ? bytes : 1);
  if (!*out) return fake_fail(cudaErrorMemoryAllocation);
  rt.pinned.insert(*out);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *at) {
  FakeLock lock(fake_mutex());
  if (at && !rt.pinned.erase(at)) return fake_fail(cudaErrorInvalidValue);
  free(at);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  FakeLock lock(fake_mutex());
  *total = total_bytes();
  *free = *total > rt.used ? *total - rt.used : 0;
  return sticky_error();
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  FakeLock lock(fake_mutex());
  cudaError_t error = check_copy(to, from, bytes, kind);
  if (error) return fake_fail(error);
  fake_enqueue(stream, [=] {
    if (bytes) memmove(to, from, bytes);
    return cudaSuccess;
  });
  return sticky_error();
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  FakeLock lock(fake_mutex());
  cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error ? error : wait_for(rt.null_stream.last);
}

cudaError_t cudaMemsetAsync(void *at, int byte, size_t bytes,
                            cudaStream_t stream) {
  FakeLock lock(fake_mutex());
  if (bytes && !fake_is_device(at, bytes))
    return fake_fail(cudaErrorInvalidValue);
  fake_enqueue(stream, [=] {
    if (bytes) memset(at, byte, bytes);
    return cudaSuccess;
  });
  return sticky_error();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  FakeLock lock(fake_mutex());
  *out = new CUstream_st{!(flags & cudaStreamNonBlocking), nullptr};
  rt.streams.insert(*out);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *out) {
  return cudaStreamCreateWithFlags(out, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  FakeLock lock(fake_mutex());
  if (!rt.streams.erase(stream))
    return fake_fail(cudaErrorInvalidResourceHandle);
  delete stream; /* what is pending stays pending, as on a GPU */
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  FakeLock lock(fake_mutex());
  CUstream_st *s = stream_of(stream);
  if (!s) return fake_fail(cudaErrorInvalidResourceHandle);
  if (s == &rt.null_stream) append(s, nullptr);
  return wait_for(s->last);
}

/* A query lets one operation run, so that a polling loop ends. */
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  FakeLock lock(fake_mutex());
  CUstream_st *s = stream_of(stream);
  if (!s) return fake_fail(cudaErrorInvalidResourceHandle);
  if (!s->last || s->last->done) return rt.sticky;
  while_open(run_any);
  return cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize(void) {
  FakeLock lock(fake_mutex());
  return wait_for_all();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) {
  FakeLock lock(fake_mutex());
  *out = new CUevent_st{};
  rt.events.insert(*out);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
  return cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  FakeLock lock(fake_mutex());
  if (!rt.events.erase(event)) return fake_fail(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  FakeLock lock(fake_mutex());
  CUstream_st *s = stream_of(stream);
  if (!s || !rt.events.count(event))
    return fake_fail(cudaErrorInvalidResourceHandle);
  event->op = append(s, nullptr);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  FakeLock lock(fake_mutex());
  CUstream_st *s = stream_of(stream);
  if (!s || !rt.events.count(event))
    return fake_fail(cudaErrorInvalidResourceHandle);
  Op gate = append(s, nullptr);
  if (event->op && !event->op->done) gate->after.push_back(event->op);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  FakeLock lock(fake_mutex());
  if (!rt.events.count(event)) return fake_fail(cudaErrorInvalidResourceHandle);
  return wait_for(event->op);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  FakeLock lock(fake_mutex());
  if (!rt.events.count(event)) return fake_fail(cudaErrorInvalidResourceHandle);
  if (!event->op || event->op->done) return rt.sticky;
  while_open(run_any);
  return cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start,
                                 cudaEvent_t end) {
  FakeLock lock(fake_mutex());
  if (!rt.events.count(start) || !rt.events.count(end) || !start->op ||
      !end->op)
    return fake_fail(cudaErrorInvalidResourceHandle);
  if (!start->op->done || !end->op->done) return cudaErrorNotReady;
  using Ms = std::chrono::duration<float, std::milli>;
  *ms = Ms(end->op->finished - start->op->finished).count();
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
  FakeLock lock(fake_mutex());
  cudaError_t error = rt.last;
  rt.last = rt.sticky;
  return error;
}

cudaError_t cudaPeekAtLastError(void) { return rt.last; }

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define CUDA_ERROR(name, number, text) \
  case name:                           \
    return text;
#include "runtime.def"
  }
  return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : fake_fail(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}

} // extern "C"

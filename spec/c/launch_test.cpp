/* launch_test.cpp: kernels without a GPU, and that faults show.
 *
 * Every planted fault must be caught in at least one thread order, and every
 * right kernel must pass in all.  A fault is worth a test only if the same
 * kernel without it passes.
 */
#include "launch_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>

namespace {

/* Runs `body` in a child; what it wrote to stderr goes to *said.  Whether the
 * child died or ended with a failure. */
template <typename F> bool dies(F body, std::string *said = nullptr) {
  int ends[2];
  if (pipe(ends)) return false;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    body();
    exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[512];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (said) *said = text;
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* ---- the launcher ---- */

void test_reductions(const char *order) {
  static float first[5];
  int slot = 0;
  for (size_t n : {0, 1, 31, 1000, 7001}) {
    std::vector<float> x(n + 1);
    double want = 0;
    for (size_t i = 0; i < n; i++)
      want += x[i] = std::sin(0.1f * static_cast<float>(i));
    Device<float> dx(x), total(1);
    LAUNCH(sum_all, 1, SUM_THREADS, 0, nullptr, n, dx.at, total.at);
    float got = total.fetch()[0];
    if (!strcmp(order, "forward")) first[slot] = got;
    CHECK(std::fabs(got - want) < 1e-2 && got == first[slot],
          "sum of %zu, %s: %g not %g", n, order, got, want);
    slot++;
  }
}

void test_histogram(const char *order) {
  std::vector<int> values(5000), want(BINS, 0);
  for (size_t i = 0; i < values.size(); i++)
    want[values[i] = static_cast<int>(i * i % BINS)]++;
  Device<int> x(values), counts(std::vector<int>(BINS, 0));
  LAUNCH(histogram, 8, 128, BINS * sizeof(int), nullptr, values.size(), x.at,
         counts.at);
  CHECK(counts.fetch() == want, "histogram, %s", order);
}

void test_shuffles(const char *order) {
  Device<int> out(32);
  LAUNCH(reads_absent, 1, 32, 0, nullptr, out.at);
  CHECK(out.fetch()[30] == -1, "a lane that has left, %s", order);
  LAUNCH(half_warps, 1, 32, 0, nullptr, out.at);
  CHECK(out.fetch()[31] == 30, "half warps apart, %s", order);
}

using Barriered = void (*)(int, int *);

bool right(Barriered kernel, int barrier) {
  Device<int> out(CELLS);
  LAUNCH(kernel, 1, CELLS, 0, nullptr, barrier, out.at);
  std::vector<int> got = out.fetch();
  for (int i = 0; i < CELLS; i++) {
    int want = kernel == shift ? (i ? i - 1 : 0) : 2 * ((i + 1) % CELLS) + 1;
    if (got[i] != want) return false;
  }
  return true;
}

/* Right with the barrier in every order; wrong without it in some. */
void test_missing_barrier(Barriered kernel, const char *name) {
  std::string caught;
  in_every_order([&](const char *order) {
    CHECK(right(kernel, 1), "%s with its barriers, %s", name, order);
    if (!right(kernel, 0)) caught = caught + " " + order;
  });
  CHECK(!caught.empty(), "%s without a barrier passes in all orders", name);
  printf("%s without a barrier: wrong in:%s\n", name, caught.c_str());
}

using Plain = void (*)(int *);

/* A divergent block is an error with a message, and not a hang. */
void test_divergence(Plain kernel, int threads, const char *words) {
  std::string said;
  bool failed = dies(
      [=] {
        Device<int> out(CELLS);
        LAUNCH(kernel, 1, threads, 0, nullptr, out.at);
        bool seen = cudaDeviceSynchronize() == cudaErrorLaunchFailure;
        bool sticky = cudaDeviceSynchronize() == cudaErrorLaunchFailure;
        fake_reset();
        _exit(seen && sticky && right(shift, 1) ? 66 : 0);
      },
      &said);
  CHECK(failed, "a divergent kernel passes (%s)", words);
  CHECK(said.find(words) != std::string::npos, "no '%s' in: %s", words,
        said.c_str());
}

void test_configuration() {
  Device<int> out(CELLS);
  LAUNCH(leaves_early, 1, 2048, 0, nullptr, out.at);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration, "too wide");
  LAUNCH(leaves_early, 0, 32, 0, nullptr, out.at);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration, "no blocks");
  LAUNCH(leaves_early, 1, 32, 1 << 20, nullptr, out.at);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration, "shared memory");
  CHECK(cudaGetLastError() == cudaSuccess, "last error not cleared");
}

/* ---- memory ---- */

void test_host_pointers() {
  std::string said;
  auto refused = [&](auto launch) {
    return dies(
        [=] {
          launch();
          _exit(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
        },
        &said);
  };
  static std::vector<int> host(CELLS);
  CHECK(refused([] { LAUNCH(shift, 1, CELLS, 0, nullptr, 1, host.data()); }),
        "a host pointer given to a kernel");
  CHECK(said.find("shift: a pointer argument is not device memory") !=
            std::string::npos,
        "says which kernel: %s", said.c_str());
  CHECK(refused([] {
          LAUNCH(fill_boxed, 1, CELLS, 0, nullptr, Boxed{host.data()});
        }),
        "a host pointer inside a struct");
  CHECK(refused([] {
          void *freed;
          cudaMalloc(&freed, 64);
          cudaFree(freed);
          LAUNCH(half_warps, 1, 32, 0, nullptr, static_cast<int *>(freed));
        }),
        "a freed operand");
  Device<int> out(CELLS);
  LAUNCH(fill_boxed, 1, CELLS, 0, nullptr, Boxed{out.at});
  CHECK(out.fetch()[5] == 5, "a device pointer inside a struct");
}

void test_faults() {
  std::string said;
  CHECK(dies(
            [] {
              Device<float> x(8);
              volatile float v = x.at[0];
              (void)v;
            },
            &said),
        "a host read of device memory");
  CHECK(said.find("from the host") != std::string::npos, "says which");
  CHECK(dies([] {
          Device<int> x(std::vector<int>(8, 0)), counts(BINS);
          LAUNCH(histogram, 1, 32, BINS * sizeof(int), nullptr, size_t{1} << 20,
                 x.at, counts.at);
          cudaDeviceSynchronize();
        }),
        "a kernel that reads far past its block");
  CHECK(dies([] {
          void *at;
          cudaMalloc(&at, CELLS * sizeof(int) - 1); /* 1 of the 4 is outside */
          LAUNCH(fill_boxed, 1, CELLS, 0, nullptr,
                 Boxed{static_cast<int *>(at)});
          if (cudaFree(at) == cudaErrorIllegalAddress) _exit(66);
        }),
        "a write past the end");
  CHECK(dies([] {
          Device<int> out(CELLS);
          LAUNCH(writes_past, 1, 1, 0, nullptr, out.at);
          cudaDeviceSynchronize();
        }),
        "a write into the guard page");
  CHECK(dies([] {
          setenv("FAKE_CUDA_STRICT", "1", 1);
          void *p;
          cudaMalloc(&p, 100);
        }),
        "a leak under FAKE_CUDA_STRICT");
}

void test_memory() {
  Device<float> fresh(3);
  CHECK(std::isnan(fresh.fetch()[2]), "new memory is not poisoned");
  void *p, *q;
  CHECK(cudaMalloc(&p, 0) == cudaSuccess && !p, "no bytes");
  CHECK(cudaMalloc(&p, ~size_t{0}) == cudaErrorMemoryAllocation, "huge");
  setenv("FAKE_CUDA_BYTES", "1000", 1);
  CHECK(cudaMalloc(&p, 900) == cudaSuccess, "within the device");
  CHECK(cudaMalloc(&q, 200) == cudaErrorMemoryAllocation, "beyond it");
  cudaFree(p);
  unsetenv("FAKE_CUDA_BYTES");
  cudaMalloc(&p, 64);
  char *inside = static_cast<char *>(p) + 8;
  CHECK(cudaFree(inside) == cudaErrorInvalidValue, "freeing an inner address");
  CHECK(cudaFree(p) == cudaSuccess, "free");
  CHECK(cudaFree(p) == cudaErrorInvalidValue, "double free");
  for (int i = 0; i < 10000; i++) {
    cudaMalloc(&p, 100);
    cudaFree(p);
  }
  CHECK(cudaGetLastError() == cudaErrorInvalidValue, "many short lives");
}

void test_copies() {
  Device<int> x(std::vector<int>{1, 2, 3, 4});
  int host[8] = {};
  CHECK(cudaMemcpy(host, x.at, 16, cudaMemcpyHostToDevice) ==
            cudaErrorInvalidValue,
        "wrong direction");
  CHECK(cudaMemcpy(host, x.at, 20, cudaMemcpyDeviceToHost) ==
            cudaErrorInvalidValue,
        "a copy longer than the block");
  CHECK(cudaMemcpy(host, host + 4, 4, cudaMemcpyDeviceToDevice) ==
            cudaErrorInvalidValue,
        "host memory called device memory");
  CHECK(cudaMemcpyAsync(host, x.at, 16, cudaMemcpyDeviceToHost, nullptr) ==
            cudaSuccess,
        "copy");
  CHECK(host[0] == 0, "an asynchronous copy arrived before any wait");
  CHECK(cudaStreamSynchronize(nullptr) == cudaSuccess && host[3] == 4, "wait");
  cudaGetLastError();
}

/* ---- streams ---- */

/* One stream writes, another reads; an event orders them, or nothing does. */
bool reader_sees(bool ordered, unsigned flags) {
  Device<int> x(std::vector<int>(1, 0));
  cudaStream_t writer, reader;
  cudaEvent_t written;
  cudaStreamCreateWithFlags(&writer, flags);
  cudaStreamCreateWithFlags(&reader, flags);
  cudaEventCreate(&written);
  int got = -1;
  cudaMemsetAsync(x.at, 0x11, 4, writer);
  cudaEventRecord(written, writer);
  if (ordered) cudaStreamWaitEvent(reader, written, 0);
  cudaMemcpyAsync(&got, x.at, 4, cudaMemcpyDeviceToHost, reader);
  cudaStreamSynchronize(reader);
  cudaDeviceSynchronize();
  cudaStreamDestroy(writer);
  cudaStreamDestroy(reader);
  cudaEventDestroy(written);
  return got == 0x11111111;
}

/* The null stream orders itself with blocking streams only. */
bool null_stream_sees(unsigned flags) {
  Device<int> x(std::vector<int>(1, 0));
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, flags);
  cudaMemsetAsync(x.at, 0x11, 4, stream);
  bool seen = x.fetch()[0] == 0x11111111;
  cudaDeviceSynchronize();
  cudaStreamDestroy(stream);
  return seen;
}

void test_streams() {
  std::string stale, past;
  in_every_order([&](const char *order) {
    CHECK(reader_sees(true, cudaStreamNonBlocking), "event, %s", order);
    CHECK(null_stream_sees(cudaStreamDefault), "null stream, %s", order);
    std::string name = std::string(" ") + order;
    if (!reader_sees(false, cudaStreamNonBlocking)) stale += name;
    if (!null_stream_sees(cudaStreamNonBlocking)) past += name;
  });
  CHECK(!stale.empty(), "a missing event shows in no order");
  CHECK(!past.empty(), "a non-blocking stream is ordered in every order");
  printf("missing event: stale in:%s; missing wait: stale in:%s\n",
         stale.c_str(), past.c_str());
}

void test_events() {
  cudaEvent_t a, b;
  float ms = -1;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  CHECK(cudaEventElapsedTime(&ms, a, b) == cudaErrorInvalidResourceHandle,
        "never recorded");
  cudaEventRecord(a, nullptr);
  cudaEventRecord(b, nullptr);
  CHECK(cudaEventElapsedTime(&ms, a, b) == cudaErrorNotReady, "pending");
  while (cudaEventQuery(b) == cudaErrorNotReady) {
  }
  CHECK(cudaEventElapsedTime(&ms, a, b) == cudaSuccess && ms >= 0, "%g", ms);
  cudaEventDestroy(a);
  CHECK(cudaEventDestroy(a) == cudaErrorInvalidResourceHandle, "twice");
  cudaEventDestroy(b);
}

} // namespace

int main() {
  in_every_order([](const char *order) {
    test_reductions(order);
    test_histogram(order);
    test_shuffles(order);
    test_divergence(leaves_early, CELLS, "32 of 64 have left the kernel");
    test_divergence(meets_apart, CELLS, "launch_test.h");
    test_divergence(half_warp, CELLS, "warp shuffle");
    test_divergence(not_named, 32, "waits at");
  });
  test_missing_barrier(shift, "shift");
  test_missing_barrier(rounds, "rounds");
  test_configuration();
  test_host_pointers();
  test_faults();
  test_memory();
  test_copies();
  test_streams();
  test_events();
  CHECK(fake_live() == 0, "blocks left: %zu", fake_live());
  return check_report();
}

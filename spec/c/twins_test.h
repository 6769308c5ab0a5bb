/* twins_test.h: one job on two backends, and the comparison of what it wrote.
 *
 * The device is the fake one.  A job runs on the CPU and on the device from
 * the same bytes; then every buffer is compared.
 */
#ifndef TWINS_TEST_H
#define TWINS_TEST_H

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

extern "C" {
#include "cpu/cpu.h"
#include "ground/ledger.h"
#include "rows/rows.h"
}

#include "check.h"
#include "fake/fake.h"
#include "value/half.h"

extern "C" const char *tensus_cuda_open(Backend *b, int index);
extern "C" const char *tensus_cuda_error(Backend *b);

static Backend cpu, gpu;
static uint64_t seed = 7;

/* ---- buffers ---- */

struct Buffer {
  Dtype dtype;
  std::vector<char> bytes;
};
using Buffers = std::vector<Buffer>;

static inline void set_value(Buffer *b, size_t i, double v) {
  char *at = b->bytes.data() + i * dtype_bytes(b->dtype);
  const float f = static_cast<float>(v);
  const int64_t w = static_cast<int64_t>(std::floor(v));
  const uint16_t f16 = f32_to_f16(f), bf16 = f32_to_bf16(f);
  switch (b->dtype) {
  case DTYPE_F64:
    memcpy(at, &v, 8);
    break;
  case DTYPE_F32:
    memcpy(at, &f, 4);
    break;
  case DTYPE_F16:
    memcpy(at, &f16, 2);
    break;
  case DTYPE_BF16:
    memcpy(at, &bf16, 2);
    break;
  case DTYPE_BOOL:
    *at = w & 1;
    break;
  default:
    memcpy(at, &w, dtype_bytes(b->dtype)); /* little-endian */
  }
}

static inline double value_at(const Buffer &b, size_t i) {
  const char *at = b.bytes.data() + i * dtype_bytes(b.dtype);
  float f;
  double v;
  if (b.dtype == DTYPE_F32) return memcpy(&f, at, 4), static_cast<double>(f);
  return memcpy(&v, at, 8), v;
}

/* `count` numbers in [low, high). */
static inline Buffer drawn(Dtype dtype, size_t count, double low, double high) {
  Buffer b = {dtype, std::vector<char>(count * dtype_bytes(dtype))};
  for (size_t i = 0; i < count; i++)
    set_value(&b, i, low + (high - low) * check_random(&seed));
  return b;
}

/* ---- a job on both ---- */

using Pointers = std::vector<char *>;
using Job = std::function<void(Backend *, const Pointers &)>;

/* Scratch of a job; NULL for none. */
struct Scratch {
  Backend *b;
  void *at = nullptr;
  Scratch(Backend *b_, size_t bytes) : b(b_) {
    if (bytes == 0) return;
    at = b == &gpu ? b->alloc(b, bytes)
                   : aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  Scratch(const Scratch &) = delete;
  ~Scratch() {
    if (at == nullptr) return;
    if (b == &gpu)
      b->free(b, at);
    else
      free(at);
  }
};

static inline Buffers run_on_cpu(Buffers buffers, const Job &job) {
  Pointers at;
  for (Buffer &b : buffers) at.push_back(b.bytes.data());
  job(&cpu, at);
  return buffers;
}

static inline Buffers run_on_gpu(Buffers buffers, const Job &job) {
  Pointers at;
  for (Buffer &b : buffers) {
    at.push_back(static_cast<char *>(gpu.alloc(&gpu, b.bytes.size())));
    gpu.write(&gpu, at.back(), b.bytes.data(), b.bytes.size());
  }
  job(&gpu, at);
  for (size_t i = 0; i < buffers.size(); i++) {
    gpu.read(&gpu, buffers[i].bytes.data(), at[i], buffers[i].bytes.size());
    gpu.free(&gpu, at[i]);
  }
  return buffers;
}

/* Equal bits, or floats that agree to `within` of their size (or of 1e-3,
 * below which they are differences of greater ones). */
static inline bool agrees(const Buffer &a, const Buffer &b, double within,
                          std::string *why) {
  if (a.bytes == b.bytes) return true;
  const size_t size = dtype_bytes(a.dtype);
  const bool real = a.dtype == DTYPE_F32 || a.dtype == DTYPE_F64;
  for (size_t i = 0; i < a.bytes.size() / size; i++) {
    if (!memcmp(&a.bytes[i * size], &b.bytes[i * size], size)) continue;
    char text[160] = "bits differ";
    if (real) {
      const double x = value_at(a, i), y = value_at(b, i);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y && within > 0) continue;
      if (std::fabs(x - y) <= within * std::fmax(std::fabs(x), 1e-3)) continue;
      snprintf(text, sizeof text, "%.17g on the CPU, %.17g on the device", x,
               y);
    }
    *why = "element " + std::to_string(i) + ": " + text;
    return false;
  }
  return true;
}

static inline void twins(const std::string &what, const Buffers &buffers,
                         double within, const Job &job) {
  const char *const orders[] = {"forward", "reverse", "shuffle:1"};
  const Buffers want = run_on_cpu(buffers, job);
  for (const char *order : orders) {
    setenv("LAUNCH_ORDER", order, 1);
    const Buffers got = run_on_gpu(buffers, job);
    for (size_t i = 0; i < want.size(); i++) {
      std::string why;
      const bool ok = agrees(want[i], got[i], within, &why);
      CHECK(ok, "%s, buffer %d, %s: %s", what.c_str(), (int)i, order,
            why.c_str());
    }
    if (!CHECK(tensus_cuda_error(&gpu) == nullptr, "%s: %s", what.c_str(),
               tensus_cuda_error(&gpu)))
      exit(1);
  }
}

#endif

/* fake.h: what the fake CUDA runtime offers the launcher and its tests,
 * beside CUDA's own calls.
 *
 * Environment, read at every use:
 *   LAUNCH_ORDER      forward | reverse | shuffle:SEED   (order.cpp)
 *   FAKE_CUDA_BYTES   the size of the device's memory, 16 GiB without it
 *   FAKE_CUDA_STRICT  blocks, streams or events left behind end the process
 *                     with status 66
 */
#ifndef FAKE_H
#define FAKE_H

#include "cuda_runtime.h"

#include <functional>
#include <mutex>
#include <vector>

/* Held by every call, and while operations run: states on several OS threads
 * share one fake device as they would share a real one. */
std::recursive_mutex &fake_mutex();
using FakeLock = std::lock_guard<std::recursive_mutex>;

/* Puts work on a stream.  Device memory is readable while it runs only. */
void fake_enqueue(cudaStream_t stream, std::function<cudaError_t()> work);

/* Notes an error for cudaGetLastError, and returns it. */
cudaError_t fake_fail(cudaError_t error);

/* Whether [at, at + bytes) lies in one live device block. */
bool fake_is_device(const void *at, size_t bytes);

/* The adversary.  Forward is the order of creation and runs only what a wait
 * asks for; reverse takes the newest first and runs all it may; shuffle
 * draws. */
enum FakeOrder { FAKE_FORWARD, FAKE_REVERSE, FAKE_SHUFFLE };
FakeOrder fake_order();

/* Fills `order` with 0, 1, 2 ... as the adversary likes it. */
void fake_permute(std::vector<int> &order);

/* A number in [0, below). */
size_t fake_draw(size_t below);

/* For tests: forgets a sticky error, counts live blocks. */
void fake_reset();
size_t fake_live();

#endif

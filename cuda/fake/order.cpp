/* order.cpp: the adversary that picks which thread, block or operation goes
 * next.  See fake.h. */
#include "fake.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>

FakeOrder fake_order() {
  const char *order = getenv("LAUNCH_ORDER");
  if (!order || !strcmp(order, "forward")) return FAKE_FORWARD;
  return !strcmp(order, "reverse") ? FAKE_REVERSE : FAKE_SHUFFLE;
}

size_t fake_draw(size_t below) {
  static uint64_t state = 0; /* odd once seeded; Knuth's MMIX generator */
  if (!state) {
    const char *order = getenv("LAUNCH_ORDER");
    const char *seed = order ? strchr(order, ':') : nullptr;
    state = 2 * strtoull(seed ? seed + 1 : "1", nullptr, 10) + 1;
  }
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (state >> 33) % below;
}

void fake_permute(std::vector<int> &order) {
  FakeOrder kind = fake_order();
  std::iota(order.begin(), order.end(), 0);
  if (kind == FAKE_REVERSE) std::reverse(order.begin(), order.end());
  if (kind == FAKE_SHUFFLE)
    for (size_t i = order.size(); i > 1; i--)
      std::swap(order[i - 1], order[fake_draw(i)]);
}

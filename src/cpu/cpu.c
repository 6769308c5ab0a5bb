/* cpu.c: the CPU as a device: every slot, from the one list of them.
 *
 * Memory slots stay as they are: the host's memory comes from the ledger.
 * Must not know: what a kernel does.
 */
#include "cpu/cpu.h"
#include "cpu/kernels.h"

void cpu_open(Backend *b) {
  b->kind = "cpu";
#define FILL(result, name, ...) b->name = cpu_##name;
  CPU_SLOTS(FILL)
#undef FILL
}

const char *cpu_level_name(void) {
  static const char *const names[LEVEL_COUNT] = {
      [LEVEL_BASE] = "base", [LEVEL_AVX2] = "avx2", [LEVEL_AVX512] = "avx512"};
  return names[level_best()];
}

/* cpu.h: the CPU as a device.  All that floors above may include of cpu/. */
#ifndef TENSUS_CPU_H
#define TENSUS_CPU_H

#include "device/backend.h"

/* Fill every slot of *b but those of memory; b->pool and b->stop are set. */
void cpu_open(Backend *b);

/* "avx512", "avx2" or "base": the kernels that run on this processor. */
const char *cpu_level_name(void);

/* Where LAPACK was found, opened now if it was not; "own" for our loops. */
const char *cpu_lapack_path(void);

#endif

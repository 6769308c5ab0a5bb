/* fiber.h: many stacks on one OS thread, switched by hand.
 *
 * On x86-64 a switch saves the six registers that the ABI keeps: 4 ns.
 * Elsewhere, or with -DFIBER_PORTABLE, it is _setjmp and _longjmp, about
 * 20 ns: makecontext makes the stack once, and no later switch enters the
 * kernel.  (swapcontext does, to save the signal mask: over 1000 ns.)
 * Address and thread sanitizers are told of every switch.
 * Must not know: kernels, blocks, the CUDA runtime.
 */
#ifndef FIBER_H
#define FIBER_H

#include <stddef.h>

#if !defined(__x86_64__) && !defined(FIBER_PORTABLE)
#define FIBER_PORTABLE
#endif

#ifdef FIBER_PORTABLE
#include <setjmp.h>
#include <ucontext.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Fiber {
  void (*entry)(void);
  char *stack; /* above its guard page */
  size_t bytes;
#ifdef FIBER_PORTABLE
  int started;
  jmp_buf here, home;
  ucontext_t first;
#else
  void *here, *home; /* stack pointers of the side that waits */
#endif
  void *shadow;           /* AddressSanitizer's notes on this stack */
  const void *home_stack; /* and on the one to return to */
  size_t home_bytes;
  void *tsan, *tsan_home; /* ThreadSanitizer's names of both */
} Fiber;

/* Gives the fiber a stack with a guard page; 0 when there is no memory.
 * The fiber must not move in memory between fiber_start and its last yield. */
int fiber_open(Fiber *fiber, size_t bytes);
void fiber_close(Fiber *fiber);

/* The next resume enters `entry`, which must not return.  May be called
 * again at any time: what the fiber was doing is forgotten. */
void fiber_start(Fiber *fiber, void (*entry)(void));

/* Runs the fiber until it yields. */
void fiber_resume(Fiber *fiber);

/* Inside the fiber: goes back to where it was resumed. */
void fiber_yield(Fiber *fiber);

#ifdef __cplusplus
}
#endif
#endif

/* fiber.c: see fiber.h. */
#undef _FORTIFY_SOURCE /* its longjmp check knows of one stack only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fiber.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#define SANITIZER(name) __has_feature(name)
#else
#define SANITIZER(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SANITIZER(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define LEAVE(shadow, stack, bytes) \
  __sanitizer_start_switch_fiber(shadow, stack, bytes)
#define ARRIVE(shadow, stack, bytes) \
  __sanitizer_finish_switch_fiber(shadow, stack, bytes)
#else
#define LEAVE(shadow, stack, bytes) \
  ((void)(shadow), (void)(stack), (void)(bytes))
#define ARRIVE(shadow, stack, bytes) \
  ((void)(shadow), (void)(stack), (void)(bytes))
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZER(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TSAN_OPEN() __tsan_create_fiber(0)
#define TSAN_CLOSE(fiber) __tsan_destroy_fiber(fiber)
#define TSAN_SELF() __tsan_get_current_fiber()
#define TSAN_GO(fiber) __tsan_switch_to_fiber(fiber, 0)
#else
#define TSAN_OPEN() NULL
#define TSAN_CLOSE(fiber) ((void)(fiber))
#define TSAN_SELF() NULL
#define TSAN_GO(fiber) ((void)(fiber))
#endif

int fiber_open(Fiber *fiber, size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *at = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return 0;
  mprotect(at, page, PROT_NONE);
  fiber->stack = (char *)at + page;
  fiber->bytes = bytes;
  fiber->tsan = TSAN_OPEN();
  return 1;
}

void fiber_close(Fiber *fiber) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  TSAN_CLOSE(fiber->tsan);
  munmap(fiber->stack - page, fiber->bytes + page);
}

/* Which fiber a first switch enters; one per OS thread. */
static _Thread_local Fiber *starting;

static void enter(void) {
  Fiber *self = starting;
  ARRIVE(NULL, &self->home_stack, &self->home_bytes);
  self->entry();
}

#ifdef FIBER_PORTABLE

void fiber_start(Fiber *fiber, void (*entry)(void)) {
  fiber->entry = entry;
  fiber->started = 0;
  fiber->shadow = NULL;
}

static void first_switch(Fiber *fiber) {
  fiber->started = 1;
  starting = fiber;
  getcontext(&fiber->first);
  fiber->first.uc_stack.ss_sp = fiber->stack;
  fiber->first.uc_stack.ss_size = fiber->bytes;
  fiber->first.uc_link = NULL;
  makecontext(&fiber->first, enter, 0);
  setcontext(&fiber->first);
}

static void go(Fiber *fiber) {
  if (_setjmp(fiber->home)) return;
  if (fiber->started) _longjmp(fiber->here, 1);
  first_switch(fiber);
}

static void back(Fiber *fiber) {
  if (!_setjmp(fiber->here)) _longjmp(fiber->home, 1);
}

#else

/* Pushes the registers a callee must keep, stores the stack pointer through
 * the first argument, takes the second as the new one, and pops. */
void fiber_switch(void **save, void *to);
__asm__(".text\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n"
        "  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n"
        "  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  popq %rcx\n  jmpq *%rcx\n" /* ret would be mispredicted */
        ".size fiber_switch, . - fiber_switch\n");

void fiber_start(Fiber *fiber, void (*entry)(void)) {
  /* From the top: an empty return address, `enter`, six registers. */
  void **top = (void **)(void *)(fiber->stack + fiber->bytes);
  for (int i = 1; i <= 8; i++) top[-i] = NULL;
  *(uintptr_t *)&top[-2] = (uintptr_t)enter;
  fiber->here = top - 8;
  fiber->entry = entry;
  fiber->shadow = NULL;
}

static void go(Fiber *fiber) {
  starting = fiber;
  fiber_switch(&fiber->home, fiber->here);
}

static void back(Fiber *fiber) { fiber_switch(&fiber->here, fiber->home); }

#endif

void fiber_resume(Fiber *fiber) {
  void *shadow = NULL;
  LEAVE(&shadow, fiber->stack, fiber->bytes);
  fiber->tsan_home = TSAN_SELF();
  TSAN_GO(fiber->tsan);
  go(fiber);
  ARRIVE(shadow, NULL, NULL);
}

void fiber_yield(Fiber *fiber) {
  LEAVE(&fiber->shadow, fiber->home_stack, fiber->home_bytes);
  TSAN_GO(fiber->tsan_home);
  back(fiber);
  ARRIVE(fiber->shadow, &fiber->home_stack, &fiber->home_bytes);
}

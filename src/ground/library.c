/* library.c: see library.h. */
#define _GNU_SOURCE /* dladdr */
#include "ground/library.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

static void copy_text(char *to, const char *from, unsigned long room) {
  if (room == 0) return;
  unsigned long n = strlen(from);
  if (n >= room) n = room - 1;
  memcpy(to, from, n);
  to[n] = '\0';
}

/* Threads that a library starts while it is opened take no signals: a handler
 * must find the thread that runs the script. */
static void *open_quietly(const char *name) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return library;
}

void *library_open(const char *const names[], char *why, unsigned long room) {
  copy_text(why, "no name to open", room);
  for (int i = 0; names[i] != NULL; i++) {
    void *library = open_quietly(names[i]);
    if (library != NULL) return library;
    const char *words = dlerror();
    copy_text(why, words != NULL ? words : "unknown", room);
  }
  return NULL;
}

void *library_symbol(void *library, const char *name) {
  return dlsym(library, name);
}

void library_path(const void *address, char *path, unsigned long room) {
  Dl_info info;
  copy_text(path, "", room);
  if (dladdr(address, &info) != 0 && info.dli_fname != NULL)
    copy_text(path, info.dli_fname, room);
}

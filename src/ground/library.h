/* library.h: shared objects opened at run time.  The one door to dlopen.
 * Must not know: whose they are. */
#ifndef TENSUS_LIBRARY_H
#define TENSUS_LIBRARY_H

/* Opens the first of `names` (ended by NULL) that can be opened; NULL if none
 * can.  `why` (of `room` bytes) then holds the loader's last words. */
void *library_open(const char *const names[], char *why, unsigned long room);

/* The address of a symbol; NULL when it is not there. */
void *library_symbol(void *library, const char *name);

/* Path of the shared object or program that holds `address`, into `path`;
 * "" when it is not known. */
void library_path(const void *address, char *path, unsigned long room);

#endif

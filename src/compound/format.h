/* format.h: what the files of one format share with io.c. */
#ifndef TENSUS_FORMAT_H
#define TENSUS_FORMAT_H

#include <stdio.h>

#include "compound/io.h"

/* A file being read: `size` is that of the whole file. */
typedef struct Source {
  FILE *file;
  const char *path;
  int64_t size;
} Source;

/* E_IO with the file's name: "PATH: why". */
Status io_fail(Context *c, Status code, const char *path, const char *why);

/* *r = `count` elements from the file into a new contiguous tensor of `shape`;
 * exactly that many bytes must be left or more. */
Status io_read_elements(Context *c, const Source *s, Dtype dtype,
                        const Shape *shape, Tensor **r);

/* Turn the bytes of every element around, in place. */
void io_swap(char *data, size_t bytes, size_t each);

/* npy.c */
Status npy_load(Context *c, const Source *s, Tensor **r);
Status npy_save(Context *c, FILE *file, const char *path, const Tensor *t);

/* idx.c: reads plain and gzipped files by path */
Status idx_load(Context *c, const Source *s, Tensor **r);

#endif

/* io.h: tensors in files.
 *
 * Nothing that is read can run code; sizes are checked against the file before
 * memory is taken.
 * Must not know: Lua, the command line.
 */
#ifndef TENSUS_IO_H
#define TENSUS_IO_H

#include "tensor/tensor.h"

/* *r = the tensor in the file, on the host; the format goes by its first
 * bytes.  E_IO (cannot be opened), E_BAD_MAGIC (no known format), E_TRUNCATED,
 * E_FILE_FORMAT, E_BAD_SHAPE and E_OBJECT_DTYPE (not what it says it is),
 * E_SIZE_OVERFLOW, E_MEMORY; the message names the file. */
Status io_load(Context *c, const char *path, Tensor **r);

/* Writes t (any device, any layout) by the extension of `path`: a new file
 * beside it first, then a rename, so that a failure leaves the old one. */
Status io_save(Context *c, const char *path, Tensor *t);

#endif

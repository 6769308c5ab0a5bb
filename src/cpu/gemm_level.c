/* gemm_level.c: one block of C, for one instruction set and every type.
 *
 * Compiled once per level (-DLEVEL=avx512 and the machine flags); the bodies
 * are read once per type.  Exports gemm_LEVEL_f32, _f64, _u32 and _u64.
 *
 *   gemm_real.h  floats, any product    } contracts and orders of addition
 *   gemv_real.h  floats, one row        } are stated there
 *   gemm_int.h   integers
 *
 * Must not know: threads, transposes (strides say it), images.
 */
#include "cpu/gemm.h"
#include "ground/check.h"

/* One name per type. */
#define BLOCK_ROWS FN(BLOCK_ROWS)
#define Tile FN(Tile)
#define Kernel FN(Kernel)
#define Job FN(Job)
#define tile_sum FN(tile_sum)
#define kernels FN(kernels)
#define pack_square FN(pack_square)
#define pack_scalar FN(pack_scalar)
#define pack_unit FN(pack_unit)
#define pack_rows FN(pack_rows)
#define pack_across FN(pack_across)
#define pack FN(pack)
#define Strip FN(Strip)
#define strip_new FN(strip_new)
#define strip_height FN(strip_height)
#define gather FN(gather)
#define scatter FN(scatter)
#define finish FN(finish)
#define fetch_c FN(fetch_c)
#define is_plain FN(is_plain)
#define panel FN(panel)
#define place_a FN(place_a)
#define place_b FN(place_b)
#define piece FN(piece)
#define run FN(run)
#define skip FN(skip)
#define extent FN(extent)
#define b_stays FN(b_stays)
#define a_stays FN(a_stays)
#define choose FN(choose)
#define round_up FN(round_up)
#define is_one_panel FN(is_one_panel)
#define panels FN(panels)
#define open_job FN(open_job)
#define block FN(block)

#define CHAINS FN(CHAINS)
#define PARTS FN(PARTS)
#define COLUMNS FN(COLUMNS)
#define SPAN FN(SPAN)
#define VECTOR_ROOM FN(VECTOR_ROOM)
#define Row FN(Row)
#define fold FN(fold)
#define last_steps FN(last_steps)
#define along FN(along)
#define along_some FN(along_some)
#define along_all FN(along_all)
#define Panel FN(Panel)
#define panel_load FN(panel_load)
#define panel_vecs FN(panel_vecs)
#define across FN(across)
#define across_chains FN(across_chains)
#define across_panel FN(across_panel)
#define across_tree FN(across_tree)
#define across_all FN(across_all)
#define straight FN(straight)
#define DOT_VECS FN(DOT_VECS)
#define dot_piece FN(dot_piece)
#define dot FN(dot)
#define some_results FN(some_results)
#define row_product FN(row_product)
#define vector FN(vector)

#define EXPORT_AS(level, type) gemm_##level##_##type
#define EXPORT(level, type) EXPORT_AS(level, type)

#define REAL float
#define REAL_BYTES 4
#define FN(name) name##_f32
#include "cpu/vector.h"
#include "cpu/gemm_real.h"
#include "cpu/gemv_real.h"
extern const GemmLevel EXPORT(LEVEL, f32);
const GemmLevel EXPORT(LEVEL, f32) = {
    REAL_BYTES, ROWS, LANES, DEPTH, BLOCK_ROWS, VECTOR_ROOM, block, vector};
#undef REAL
#undef REAL_BYTES
#undef FN

#define REAL double
#define REAL_BYTES 8
#define FN(name) name##_f64
#include "cpu/vector.h"
#include "cpu/gemm_real.h"
#include "cpu/gemv_real.h"
extern const GemmLevel EXPORT(LEVEL, f64);
const GemmLevel EXPORT(LEVEL, f64) = {
    REAL_BYTES, ROWS, LANES, DEPTH, BLOCK_ROWS, VECTOR_ROOM, block, vector};
#undef REAL
#undef REAL_BYTES
#undef FN

#define WORD uint32_t
#define WORD_BYTES 4
#define FN(name) name##_u32
#include "cpu/gemm_int.h"
extern const GemmLevel EXPORT(LEVEL, u32);
const GemmLevel EXPORT(LEVEL, u32) = {
    WORD_BYTES, INT_ROWS, LANES, INT_DEPTH, INT_ROWS, 0, block, block};
#undef WORD
#undef WORD_BYTES
#undef FN

#define WORD uint64_t
#define WORD_BYTES 8
#define FN(name) name##_u64
#include "cpu/gemm_int.h"
extern const GemmLevel EXPORT(LEVEL, u64);
const GemmLevel EXPORT(LEVEL, u64) = {
    WORD_BYTES, INT_ROWS, LANES, INT_DEPTH, INT_ROWS, 0, block, block};

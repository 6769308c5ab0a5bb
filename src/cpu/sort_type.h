/* sort_type.h: the loops of sort.h for one type of item.
 *
 * Read by sort.c once per type, with ITEM, FN(name), MAKE(key, at), KEY(item),
 * AT(item) and BEFORE(a, b): the smaller key, then the smaller place.  So no
 * two items are equal, and any way of sorting them is stable.
 * No include guard.
 */

/* ---- from elements to items and back ---- */

#define KEYED(DTYPE, U, key)                                                \
  static void FN(load_##DTYPE)(int64_t n, const char *from, int64_t step,   \
                               uint64_t turn, int shift, int64_t at,        \
                               void *to) {                                  \
    const U *x = (const U *)(const void *)from;                             \
    ITEM *item = to;                                                        \
    for (int64_t i = 0; i < n; i++) {                                       \
      const uint64_t bits = (U)(key(x[i * step]) ^ (U)turn);                \
      item[i] = MAKE(bits >> shift, at + i);                                \
    }                                                                       \
  }
KEYED_DTYPES(KEYED)
#undef KEYED

#define VALUES(U)                                                           \
  static void FN(values_##U)(int64_t n, const void *items, const char *from, \
                             int64_t from_step, char *to, int64_t step) {   \
    const ITEM *item = items;                                               \
    const U *x = (const U *)(const void *)from;                             \
    U *y = (U *)(void *)to;                                                 \
    for (int64_t i = 0; i < n; i++)                                         \
      y[i * step] = x[AT(item[i]) * from_step];                             \
  }
VALUES(uint8_t)
VALUES(uint16_t)
VALUES(uint32_t)
VALUES(uint64_t)
#undef VALUES

static void FN(places)(int64_t n, const void *items, int64_t base, char *to,
                       int64_t step) {
  const ITEM *item = items;
  int64_t *place = (int64_t *)(void *)to;
  for (int64_t i = 0; i < n; i++) place[i * step] = base + AT(item[i]);
}

/* ---- sorting ---- */

static void FN(insert)(int64_t n, ITEM *item) {
  for (int64_t i = 1; i < n; i++) {
    const ITEM moving = item[i];
    int64_t k = i;
    for (; k > 0 && BEFORE(moving, item[k - 1]); k--) item[k] = item[k - 1];
    item[k] = moving;
  }
}

/* The bits in which some keys differ. */
static uint64_t FN(differ)(int64_t n, const ITEM *item) {
  uint64_t bits = 0;
  for (int64_t i = 1; i < n; i++) bits |= KEY(item[i]) ^ KEY(item[0]);
  return bits;
}

static void FN(count)(int64_t n, const void *items, int shift,
                      int64_t *count) {
  const ITEM *item = items;
  for (int64_t i = 0; i < n; i++)
    count[KEY(item[i]) >> shift & (DIGITS - 1)]++;
}

/* to[place[digit]++] = item; places of digits do not meet. */
static void FN(deal)(int64_t n, const void *items, int shift, int64_t *place,
                     void *to) {
  const ITEM *restrict item = items;
  ITEM *restrict out = to;
  for (int64_t i = 0; i < n; i++)
    out[place[KEY(item[i]) >> shift & (DIGITS - 1)]++] = item[i];
}

static void FN(sort)(int64_t n, void *items, void *spare) {
  if (n <= FEW) {
    FN(insert)(n, items);
    return;
  }
  const uint64_t bits = FN(differ)(n, items);
  void *from = items, *to = spare;
  for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
    int64_t count[DIGITS] = {0};
    if ((bits >> shift & (DIGITS - 1)) == 0) continue;
    FN(count)(n, from, shift, count);
    counts_to_places(1, count);
    FN(deal)(n, from, shift, count, to);
    void *const swapped = from;
    from = to, to = swapped;
  }
  if (from != items) memcpy(items, from, (size_t)n * sizeof(ITEM));
}

/* ---- selecting ---- */

/* item[0] = number r of the order; the others are anything.  Digit by digit,
 * highest first, what has another digit than number r is dropped; what is
 * left at the end has one key, in the order of places. */
static void FN(rank)(int64_t n, void *items, int64_t r) {
  ITEM *item = items;
  const uint64_t bits = FN(differ)(n, item);
  for (int shift = 64 - DIGIT_BITS; shift >= 0 && n > 1; shift -= DIGIT_BITS) {
    int64_t count[DIGITS] = {0}, kept = 0;
    uint64_t digit = 0;
    if ((bits >> shift & (DIGITS - 1)) == 0) continue;
    FN(count)(n, items, shift, count);
    for (; r >= count[digit]; digit++) r -= count[digit];
    for (int64_t i = 0; i < n; i++) {
      const ITEM x = item[i];
      item[kept] = x;
      kept += (KEY(x) >> shift & (DIGITS - 1)) == digit;
    }
    n = kept;
  }
  item[0] = item[r];
}

/* Keeps those that come not after *last, in their order; returns how many. */
static int64_t FN(keep)(int64_t n, void *items, const void *last) {
  const ITEM limit = *(const ITEM *)last;
  ITEM *item = items;
  int64_t kept = 0;
  for (int64_t i = 0; i < n; i++) {
    const ITEM x = item[i];
    item[kept] = x;
    kept += !BEFORE(limit, x);
  }
  return kept;
}

static int64_t FN(equals)(int64_t n, const void *items, uint64_t key) {
  const ITEM *item = items;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) count += KEY(item[i]) == key;
  return count;
}

#define KEYED(DTYPE, U, key) [DTYPE_##DTYPE] = FN(load_##DTYPE),
static const ItemLoops FN(loops) = {
    .bytes = sizeof(ITEM),
    .load = {KEYED_DTYPES(KEYED)},
    .values = {FN(values_uint8_t), FN(values_uint16_t), FN(values_uint32_t),
               FN(values_uint64_t)},
    .places = FN(places),
    .sort = FN(sort),
    .count = FN(count),
    .deal = FN(deal),
    .rank = FN(rank),
    .keep = FN(keep),
    .equals = FN(equals)};
#undef KEYED

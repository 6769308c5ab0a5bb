/* dense_type.h: our own linear algebra of one matrix, for REAL; read twice.
 *
 * Plain loops over columns: right on any machine, and the fastest there is
 * below some ten rows, where a call of a library costs more than the work.
 * Column j of a (rows, columns) matrix at `a` begins at a + j rows.
 */

static REAL FN(dot)(int64_t n, const REAL *x, const REAL *y) {
  REAL sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* y += f x */
static void FN(add_scaled)(int64_t n, REAL f, const REAL *restrict x,
                           REAL *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] += f * x[i];
}

static void FN(scale)(int64_t n, REAL f, REAL *x) {
  for (int64_t i = 0; i < n; i++) x[i] *= f;
}

static void FN(swap_rows)(int64_t rows, int64_t columns, REAL *a, int64_t i,
                          int64_t j) {
  for (int64_t k = 0; k < columns && i != j; k++, a += rows) {
    const REAL kept = a[i];
    a[i] = a[j], a[j] = kept;
  }
}

static void FN(swap_columns)(int64_t rows, REAL *a, int64_t i, int64_t j) {
  REAL *x = a + i * rows, *y = a + j * rows;
  for (int64_t k = 0; k < rows; k++) {
    const REAL kept = x[k];
    x[k] = y[k], y[k] = kept;
  }
}

/* The place of the greatest |x|, the first of ties. */
static int64_t FN(greatest)(int64_t n, const REAL *x) {
  int64_t at = 0;
  for (int64_t i = 1; i < n; i++)
    if (FABS(x[i]) > FABS(x[at])) at = i;
  return at;
}

static bool FN(all_finite)(int64_t n, const REAL *x) {
  REAL sum = 0; /* of zeros: NaN as soon as one x is not finite */
  for (int64_t i = 0; i < n; i++) sum += x[i] * 0;
  return sum == 0;
}

/* ---- triangles ---- */

/* One right-hand side, by columns of the triangle. */
static void FN(substitute)(const Dense *d, const REAL *a, REAL *b) {
  const int64_t n = d->n;
  for (int64_t j = 0; j < n; j++) {
    const int64_t at = d->upper ? n - 1 - j : j;
    const REAL *column = a + at * n;
    if (!d->unit) b[at] /= column[at];
    if (d->upper)
      FN(add_scaled)(at, -b[at], column, b);
    else
      FN(add_scaled)(n - 1 - at, -b[at], column + at + 1, b + at + 1);
  }
}

static int64_t FN(triangular)(const Dense *d) {
  const REAL *a = (const REAL *)(const void *)d->a;
  REAL *b = (REAL *)(void *)d->b;
  for (int64_t i = 0; i < d->n && !d->unit; i++)
    if (a[i * d->n + i] == 0) return i + 1;
  for (int64_t j = 0; j < d->k; j++) FN(substitute)(d, a, b + j * d->n);
  return 0;
}

/* ---- elimination with row exchanges (Golub and Van Loan 2013, 3.4.1) ---- */

static void FN(eliminate)(int64_t n, int64_t k, REAL *a) {
  REAL *pivot = a + k * n;
  FN(scale)(n - 1 - k, 1 / pivot[k], pivot + k + 1);
  for (int64_t j = k + 1; j < n; j++) {
    REAL *column = a + j * n;
    FN(add_scaled)(n - 1 - k, -column[k], pivot + k + 1, column + k + 1);
  }
}

/* b, when there is one, has its rows exchanged along. */
static int64_t FN(lu)(const Dense *d) {
  REAL *a = (REAL *)(void *)d->a, *b = (REAL *)(void *)d->b;
  const int64_t n = d->n;
  int64_t zero = 0;
  for (int64_t k = 0; k < n; k++) {
    const int64_t at = k + FN(greatest)(n - k, a + k * n + k);
    if (d->pivot != NULL) d->pivot[k] = at;
    FN(swap_rows)(n, n, a, k, at);
    if (b != NULL) FN(swap_rows)(n, d->k, b, k, at);
    if (a[k * n + k] != 0)
      FN(eliminate)(n, k, a);
    else if (zero == 0)
      zero = k + 1;
  }
  return zero;
}

static int64_t FN(solve)(const Dense *d) {
  const int64_t zero = FN(lu)(d);
  Dense half = *d;
  if (zero != 0) return zero;
  half.upper = false, half.unit = true;
  FN(triangular)(&half);
  half.upper = true, half.unit = false;
  return FN(triangular)(&half);
}

/* ---- Cholesky ---- */

/* Column j of the lower factor, given those before it. */
static bool FN(cholesky_column)(int64_t n, int64_t j, REAL *a) {
  REAL *column = a + j * n;
  for (int64_t k = 0; k < j; k++)
    FN(add_scaled)(n - j, -a[k * n + j], a + k * n + j, column + j);
  if (!(column[j] > 0)) return false; /* NaN is not positive either */
  const REAL root = SQRT(column[j]);
  column[j] = root;
  FN(scale)(n - 1 - j, 1 / root, column + j + 1);
  return true;
}

static void FN(turn_square)(int64_t n, REAL *a) {
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < j; i++) {
      const REAL kept = a[j * n + i];
      a[j * n + i] = a[i * n + j], a[i * n + j] = kept;
    }
}

static int64_t FN(cholesky)(const Dense *d) {
  REAL *a = (REAL *)(void *)d->a;
  int64_t failed = 0;
  if (d->upper) FN(turn_square)(d->n, a);
  for (int64_t j = 0; j < d->n && failed == 0; j++)
    if (!FN(cholesky_column)(d->n, j, a)) failed = j + 1;
  if (d->upper) FN(turn_square)(d->n, a);
  return failed;
}

/* Zeros in the triangle that was not asked for. */
static void FN(clear_other)(const Dense *d) {
  REAL *a = (REAL *)(void *)d->a;
  for (int64_t j = 0; j < d->n; j++, a += d->n)
    for (int64_t i = d->upper ? j + 1 : 0; i < (d->upper ? d->n : j); i++)
      a[i] = 0;
}

/* ---- QR by reflections (Golub and Van Loan 2013, 5.2.1) ---- */

/* H = I - tau v v', v[0] = 1, turns x into (beta, 0 ..): x becomes (beta,
 * v[1 ..]). */
static REAL FN(reflection)(int64_t n, REAL *x) {
  const REAL most = FABS(x[FN(greatest)(n, x)]);
  REAL sum = 0;
  for (int64_t i = 1; i < n; i++) sum += (x[i] / most) * (x[i] / most);
  if (!(sum > 0)) return 0; /* already there; or most is 0 or infinite */
  const REAL first = x[0] / most;
  const REAL norm = SQRT(first * first + sum);
  const REAL beta = first > 0 ? -norm : norm;
  FN(scale)(n - 1, 1 / (x[0] - beta * most), x + 1);
  x[0] = beta * most;
  return (beta - first) / beta;
}

/* Every column of `to` (n rows, `stride` apart) times H. */
static void FN(reflect)(int64_t n, REAL tau, const REAL *v, int64_t columns,
                        REAL *to, int64_t stride) {
  for (int64_t j = 0; j < columns; j++, to += stride) {
    const REAL along = tau * (to[0] + FN(dot)(n - 1, v + 1, to + 1));
    to[0] -= along;
    FN(add_scaled)(n - 1, -along, v + 1, to + 1);
  }
}

/* What LAPACK leaves of a QR in a, apart: u's columns from the k-th on are
 * set by whoever multiplies the reflections. */
static void FN(split_qr)(const Dense *d) {
  const int64_t m = d->m, n = d->n, k = dense_least(d), q = dense_q(d);
  const REAL *a = (const REAL *)(const void *)d->a;
  REAL *u = (REAL *)(void *)d->u, *v = (REAL *)(void *)d->v;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < q; i++)
      v[j * q + i] = i <= j && i < m ? a[j * m + i] : 0;
  memcpy(u, a, (size_t)(m * k) * sizeof *u);
}

/* u holds the reflectors; columns of the identity are reflected from the last
 * on. */
static void FN(multiply_out)(const Dense *d, const REAL *tau) {
  const int64_t m = d->m, k = dense_least(d), p = dense_p(d);
  REAL *u = (REAL *)(void *)d->u;
  for (int64_t j = p - 1; j >= 0; j--) {
    REAL *column = u + j * m;
    if (j >= k) {
      memset(column, 0, (size_t)m * sizeof *column);
      column[j] = 1;
      continue;
    }
    FN(reflect)(m - j, tau[j], column + j, p - 1 - j, column + m + j, m);
    for (int64_t i = j + 1; i < m; i++) column[i] *= -tau[j];
    for (int64_t i = 0; i < j; i++) column[i] = 0;
    column[j] = 1 - tau[j];
  }
}

static int64_t FN(qr)(const Dense *d, REAL *tau) {
  const int64_t m = d->m, k = dense_least(d);
  REAL *a = (REAL *)(void *)d->a;
  for (int64_t j = 0; j < k; j++) {
    REAL *column = a + j * m + j;
    tau[j] = FN(reflection)(m - j, column);
    FN(reflect)(m - j, tau[j], column, d->n - 1 - j, column + m, m);
  }
  FN(split_qr)(d);
  FN(multiply_out)(d, tau);
  return 0;
}

static bool FN(turn_column)(int64_t rows, REAL *x) {
  if (!(x[FN(greatest)(rows, x)] < 0)) return false;
  FN(scale)(rows, -1, x);
  return true;
}

/* The diagonal of v becomes positive, and the greatest entry of those columns
 * of u that have none. */
static void FN(turn_qr)(const Dense *d) {
  const int64_t q = dense_q(d);
  REAL *u = (REAL *)(void *)d->u, *v = (REAL *)(void *)d->v;
  for (int64_t j = 0; j < dense_least(d); j++) {
    if (!(v[j * q + j] < 0)) continue;
    FN(scale)(d->m, -1, u + j * d->m);
    for (int64_t i = j; i < d->n; i++) v[i * q + j] = -v[i * q + j];
  }
  for (int64_t j = dense_least(d); j < q; j++)
    FN(turn_column)(d->m, u + j * d->m);
}

/* ---- eigenvalues by Jacobi's rotations (Golub and Van Loan 2013, 8.5) ---- */

enum { FN(SWEEPS) = 60 }; /* 6 to 10 are enough; a bound for the worst */

/* x, y = c x - s y, s x + c y */
static void FN(rotate)(int64_t n, REAL c, REAL s, REAL *restrict x,
                       REAL *restrict y) {
  for (int64_t i = 0; i < n; i++) {
    const REAL kept = x[i];
    x[i] = c * kept - s * y[i];
    y[i] = s * kept + c * y[i];
  }
}

/* The rotation that makes the symmetric (x z; z y) diagonal. */
static void FN(rotation)(REAL x, REAL y, REAL z, REAL *c, REAL *s) {
  const REAL half = (y - x) / (2 * z);
  const REAL t = (half >= 0 ? 1 : -1) / (FABS(half) + HYPOT(1, half));
  *c = 1 / SQRT(1 + t * t);
  *s = t * *c;
}

static bool FN(eigh_sweep)(int64_t n, REAL *a, REAL *v, REAL small) {
  bool is_done = true;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) {
      REAL *x = a + i * n, *y = a + j * n, c, s;
      if (FABS(x[j]) <= small) continue;
      is_done = false;
      FN(rotation)(x[i], y[j], x[j], &c, &s);
      FN(rotate)(n, c, s, x, y);
      for (int64_t k = 0; k < n; k++) FN(rotate)(1, c, s, a + k * n + i, a + k * n + j);
      x[j] = y[i] = 0;
      FN(rotate)(n, c, s, v + i * n, v + j * n);
    }
  return is_done;
}

static void FN(identity)(int64_t n, REAL *v) {
  memset(v, 0, (size_t)(n * n) * sizeof *v);
  for (int64_t i = 0; i < n; i++) v[i * n + i] = 1;
}

/* The triangle that is read, in both. */
static void FN(mirror)(const Dense *d) {
  const int64_t n = d->n;
  REAL *a = (REAL *)(void *)d->a;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < j; i++) {
      if (d->upper)
        a[i * n + j] = a[j * n + i];
      else
        a[j * n + i] = a[i * n + j];
    }
}

/* v: n n numbers.  The values are sorted by selection, columns along. */
static int64_t FN(eigh)(const Dense *d, REAL *v) {
  const int64_t n = d->n;
  REAL *a = (REAL *)(void *)d->a, *s = (REAL *)(void *)d->s;
  FN(mirror)(d);
  FN(identity)(n, v);
  const REAL most = FABS(a[FN(greatest)(n * n, a)]);
  const REAL small = most * (REAL)(EPSILON) * (REAL)0.01;
  int sweeps = 0;
  while (most > 0 && !FN(eigh_sweep)(n, a, v, small))
    if (++sweeps == FN(SWEEPS)) return 1;
  for (int64_t i = 0; i < n; i++) s[i] = a[i * n + i];
  for (int64_t i = 0; i < n; i++) {
    int64_t least = i;
    for (int64_t j = i + 1; j < n; j++)
      if (s[j] < s[least]) least = j;
    FN(swap_columns)(1, s, i, least);
    FN(swap_columns)(n, v, i, least);
  }
  memcpy(a, v, (size_t)(n * n) * sizeof *a);
  return 0;
}

/* ---- singular values by one-sided rotations (Hestenes 1958) ---- */

/* w (p, q), p >= q: its columns become orthogonal; v (q, q) turns along. */
static bool FN(svd_sweep)(int64_t p, int64_t q, REAL *w, REAL *v) {
  bool is_done = true;
  for (int64_t i = 0; i < q; i++)
    for (int64_t j = i + 1; j < q; j++) {
      REAL *x = w + i * p, *y = w + j * p, c, s;
      const REAL xx = FN(dot)(p, x, x), yy = FN(dot)(p, y, y);
      const REAL xy = FN(dot)(p, x, y);
      const REAL limit = (REAL)(EPSILON) * SQRT((REAL)p) * SQRT(xx) * SQRT(yy);
      if (FABS(xy) <= limit || xy == 0) continue;
      is_done = false;
      FN(rotation)(xx, yy, xy, &c, &s);
      FN(rotate)(p, c, s, x, y);
      FN(rotate)(q, c, s, v + i * q, v + j * q);
    }
  return is_done;
}

/* Column j of u (m rows) becomes a unit vector across the columns before it:
 * the unit vector with most of it left, projected twice. */
static void FN(complete)(int64_t m, int64_t j, REAL *u) {
  REAL *x = u + j * m;
  for (int64_t i = 0; i < m; i++) x[i] = 1;
  for (int64_t k = 0; k < j; k++)
    for (int64_t i = 0; i < m; i++) x[i] -= u[k * m + i] * u[k * m + i];
  int64_t at = 0;
  for (int64_t i = 1; i < m; i++)
    if (x[i] > x[at]) at = i;
  memset(x, 0, (size_t)m * sizeof *x);
  x[at] = 1;
  for (int twice = 0; twice < 2; twice++)
    for (int64_t k = 0; k < j; k++)
      FN(add_scaled)(m, -FN(dot)(m, u + k * m, x), u + k * m, x);
  FN(scale)(m, 1 / SQRT(FN(dot)(m, x, x)), x);
}

/* Columns of w by falling length, which becomes s; u (p, count) = their
 * directions, completed. */
static void FN(directions)(int64_t p, int64_t q, int64_t count, REAL *w,
                           REAL *v, REAL *s, REAL *u) {
  for (int64_t i = 0; i < q; i++) s[i] = SQRT(FN(dot)(p, w + i * p, w + i * p));
  for (int64_t i = 0; i < q; i++) {
    const int64_t most = i + FN(greatest)(q - i, s + i);
    FN(swap_columns)(1, s, i, most);
    FN(swap_columns)(p, w, i, most);
    FN(swap_columns)(q, v, i, most);
  }
  for (int64_t j = 0; j < count && u != NULL; j++) {
    if (j >= q || s[j] == 0) {
      FN(complete)(p, j, u);
      continue;
    }
    memcpy(u + j * p, w + j * p, (size_t)p * sizeof *u);
    FN(scale)(p, 1 / s[j], u + j * p);
  }
}

/* to (columns, rows) = from (rows, columns) turned. */
static void FN(turn)(int64_t rows, int64_t columns, const REAL *from,
                     REAL *to) {
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < rows; i++) to[i * columns + j] = from[j * rows + i];
}

/* room: p q + q q + p p numbers, p = max(m, n), q the other: w, v, and the
 * long side's directions where the matrix was turned. */
static int64_t FN(svd)(const Dense *d, REAL *room) {
  const int64_t m = d->m, n = d->n;
  const int64_t p = max_i64(m, n), q = min_i64(m, n);
  REAL *w = room, *v = w + p * q, *side = v + q * q;
  REAL *a = (REAL *)(void *)d->a, *s = (REAL *)(void *)d->s;
  REAL *u = (REAL *)(void *)d->u, *r = (REAL *)(void *)d->v;
  const REAL most = FABS(a[FN(greatest)(m * n, a)]);
  int sweeps = 0;
  if (m >= n)
    memcpy(w, a, (size_t)(m * n) * sizeof *w);
  else
    FN(turn)(m, n, a, w);
  if (most > 0) FN(scale)(p * q, 1 / most, w); /* squares stay in range */
  FN(identity)(q, v);
  while (!FN(svd_sweep)(p, q, w, v))
    if (++sweeps == FN(SWEEPS)) return 1;
  const int64_t count = !d->vectors ? 0 : d->full ? p : q;
  FN(directions)(p, q, count, w, v, s, m >= n ? u : side);
  FN(scale)(q, most, s);
  if (!d->vectors) return 0;
  if (m >= n) {
    FN(turn)(q, q, v, r);
  } else {
    memcpy(u, v, (size_t)(q * q) * sizeof *u);
    FN(turn)(p, count, side, r);
  }
  return 0;
}

/* ---- signs: the greatest entry of a column is positive ---- */

static void FN(turn_eigh)(const Dense *d) {
  REAL *a = (REAL *)(void *)d->a;
  for (int64_t j = 0; j < d->n && d->vectors; j++)
    FN(turn_column)(d->n, a + j * d->n);
}

static void FN(turn_row)(int64_t rows, int64_t columns, REAL *v, int64_t i) {
  for (int64_t j = 0; j < columns; j++) v[j * rows + i] = -v[j * rows + i];
}

/* Is the greatest entry of row i below 0? */
static bool FN(row_is_turned)(int64_t rows, int64_t columns, const REAL *v,
                              int64_t i) {
  REAL most = 0;
  for (int64_t j = 0; j < columns; j++)
    if (FABS(v[j * rows + i]) > FABS(most)) most = v[j * rows + i];
  return most < 0;
}

/* A row of v without a column of u has its own sign. */
static void FN(turn_svd)(const Dense *d) {
  const int64_t p = dense_p(d), q = dense_q(d);
  REAL *u = (REAL *)(void *)d->u, *v = (REAL *)(void *)d->v;
  for (int64_t j = 0; j < p && d->vectors; j++)
    if (FN(turn_column)(d->m, u + j * d->m) && j < q)
      FN(turn_row)(q, d->n, v, j);
  for (int64_t j = p; j < q && d->vectors; j++)
    if (FN(row_is_turned)(q, d->n, v, j)) FN(turn_row)(q, d->n, v, j);
}

/* ---- what dense.c asks for ---- */

static bool FN(is_fit)(const Dense *d) {
  return FN(all_finite)(d->m * d->n, (const REAL *)(const void *)d->a);
}

static void FN(finish)(const Dense *d) {
  switch (d->what) {
  case DENSE_CHOLESKY: FN(clear_other)(d); break;
  case DENSE_QR: FN(turn_qr)(d); break;
  case DENSE_SVD: FN(turn_svd)(d); break;
  case DENSE_EIGH: FN(turn_eigh)(d); break;
  default: break;
  }
}

static int64_t FN(own)(const Dense *d, char *room) {
  REAL *real = (REAL *)(void *)room;
  switch (d->what) {
  case DENSE_LU: return FN(lu)(d);
  case DENSE_SOLVE: return FN(solve)(d);
  case DENSE_CHOLESKY: return FN(cholesky)(d);
  case DENSE_TRIANGULAR: return FN(triangular)(d);
  case DENSE_QR: return FN(qr)(d, real);
  case DENSE_SVD: return FN(svd)(d, real);
  case DENSE_EIGH: return FN(eigh)(d, real);
  }
  return 0;
}

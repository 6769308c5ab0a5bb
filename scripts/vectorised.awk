# vectorised.awk: fails when a loop of src/cpu/*_level.c stayed scalar that
# should be vector code.  Reads gcc's own account of a compilation:
#
#   gcc FLAGS -DLEVEL=avx2 -fdump-tree-vect-optimized=build/vect \
#     -c src/cpu/pointwise_level.c -o build/scrap.o
#   awk -v level=avx2 -f scripts/vectorised.awk build/vect
#
# FLAGS are those that `make V=1` shows for the level.  Each kernel has one
# loop.  The exceptions are named below, each with its reason.

function excused(name) {
  # Division by a table of cases, powers by squaring, the C library's fmod.
  if (name ~ /^value_(floor_divide|remainder|pow)_i/) return 1
  if (name ~ /^value_remainder_f/) return 1
  # An integer is never NaN: the loop became memset.
  if (name ~ /^value_isnan_i/) return 1
  # gcc threads a jump through the guard of the base.
  if (name ~ /^gx_loop_pow_f/) return 1
  # 64-bit integers become floats, and back, from AVX-512DQ on.
  if (level != "avx512" && name ~ /^i64_into_(f|bf)|_into_i64$/) return 1
  if (level != "base") return 0
  # SSE2 neither multiplies nor compares 64-bit integers, nor rounds doubles.
  if (name ~ /_i64$/ || name ~ /^(i64|f64)_into_(bool|f16|bf16)$/) return 1
  if (name == "i32_into_bf16") return 1
  return name ~ /_(sin|cos|tan|sinh|cosh)_f64$/
}

/^;; Function/ {
  name = $3
  ours = name ~ /^(value|g[xyz]_loop)_/ || name ~ /_into_/
  if (ours) kernel[name] = 1
}
/optimized: loop vectorized/ && ours { vector[name] = 1 }

END {
  for (name in kernel) {
    total++
    if (name in vector) wide++
    else if (excused(name)) known++
    else { bad++; print "  scalar: " name }
  }
  printf "%s: %d kernels: %d vector code, %d scalar for a known reason, " \
         "%d unexpectedly\n", level, total, wide, known, bad
  exit bad > 0 || total == 0
}

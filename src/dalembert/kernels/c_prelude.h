/* Vector arithmetic for generated dalembert kernels: C99 with the GCC vector extension, no -ffast-math. */
#include <math.h>
#include <string.h>
#if defined(DAL_STREAM) && defined(__SSE2__)
#include <immintrin.h>
#endif

/* Samples per vector: as many as a register holds. Longer vectors are kept in memory: 0.7 of the speed on AVX2. */
#if !defined(DAL_L)
#if defined(__AVX512F__)
#define DAL_L 8
#elif defined(__AVX__)
#define DAL_L 4
#else
#define DAL_L 2
#endif
#endif
#if DAL_L == 8
#define DAL_LIST(f) {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)}
#elif DAL_L == 4
#define DAL_LIST(f) {f(0), f(1), f(2), f(3)}
#else
#define DAL_LIST(f) {f(0), f(1)}
#endif
typedef double dal_v __attribute__((vector_size(8 * DAL_L)));
typedef long long dal_m __attribute__((vector_size(8 * DAL_L)));
typedef double dal_u __attribute__((vector_size(8 * DAL_L), aligned(8), may_alias));
#define DAL_INLINE static inline __attribute__((always_inline, unused))
#define DAL_CALL static __attribute__((noinline, unused))
#define DAL_SIGN_BIT (-0x7fffffffffffffffLL - 1)

#define DAL_SAME(k) a
#define DAL_STEP(k) a[k * stride]
DAL_INLINE dal_v dal_set(double a) { return (dal_v)DAL_LIST(DAL_SAME); }
DAL_INLINE dal_v dal_pick(dal_m mask, dal_v a, dal_v b) { return (dal_v)((mask & (dal_m)a) | (~mask & (dal_m)b)); }
DAL_INLINE dal_v dal_truth(dal_m mask) { return (dal_v)(mask & (dal_m)dal_set(1.0)); }
DAL_INLINE int dal_any(dal_m mask)
{
    long long any = 0;
#define DAL_OR(k) any |= mask[k]
    long long list[] = DAL_LIST(DAL_OR);
    (void)list;
    return any != 0;
}

/* One vector of samples of one input entry. The last vector repeats the last sample instead of reading past the end. */
DAL_CALL dal_v dal_tail(const double *a, long long stride, long long left)
{
    dal_v r = dal_set(a[0]);
    for (int k = 1; k < left; k++) r[k] = a[k * stride];
    return r;
}
DAL_INLINE dal_v dal_load(const double *a, long long stride, long long left)
{
    if (stride == 0) return dal_set(a[0]);
    if (left < DAL_L) return dal_tail(a, stride, left);
    if (stride == 1) return (dal_v)*(const dal_u *)a;
    return (dal_v)DAL_LIST(DAL_STEP);
}

/* The same for an input of many entries: parameters, the same for all samples, which a copy of dal_load for each would
   take longer to compile than the whole of the rest. */
DAL_CALL dal_v dal_gather(const double *a, long long stride, long long left) { return dal_load(a, stride, left); }
DAL_INLINE dal_v dal_parameter(const double *a, long long stride, long long left)
{
    return stride == 0 ? dal_set(a[0]) : dal_gather(a, stride, left);
}

/* Output rows are 64-byte aligned and padded to whole vectors. With DAL_STREAM they bypass the cache. */
#if defined(DAL_STREAM) && DAL_L == 8 && defined(__AVX512F__)
DAL_INLINE void dal_store(double *a, dal_v b) { _mm512_stream_pd(a, (__m512d)b); }
#elif defined(DAL_STREAM) && DAL_L == 4 && defined(__AVX__)
DAL_INLINE void dal_store(double *a, dal_v b) { _mm256_stream_pd(a, (__m256d)b); }
#elif defined(DAL_STREAM) && DAL_L == 2 && defined(__SSE2__)
DAL_INLINE void dal_store(double *a, dal_v b) { _mm_stream_pd(a, (__m128d)b); }
#else
DAL_INLINE void dal_store(double *a, dal_v b) { *(dal_v *)a = b; }
#endif
#if defined(DAL_STREAM) && defined(__SSE2__)
#define DAL_FENCE() _mm_sfence()
#else
#define DAL_FENCE()
#endif

DAL_INLINE dal_v dal_fabs(dal_v a) { return (dal_v)((dal_m)a & ~DAL_SIGN_BIT); }
DAL_INLINE dal_v dal_copysign(dal_v a, dal_v b) { return (dal_v)(((dal_m)a & ~DAL_SIGN_BIT) | ((dal_m)b & DAL_SIGN_BIT)); }
DAL_INLINE dal_v dal_sign(dal_v a) { return dal_pick(a > 0.0, dal_set(1.0), dal_pick(a < 0.0, dal_set(-1.0), a)); }
DAL_INLINE dal_v dal_fmin(dal_v a, dal_v b) { return dal_pick((a < b) | (b != b), a, b); }
DAL_INLINE dal_v dal_fmax(dal_v a, dal_v b) { return dal_pick((a > b) | (b != b), a, b); }
DAL_INLINE dal_v dal_if_else_zero(dal_v a, dal_v b) { return (dal_v)((a != 0.0) & (dal_m)b); }

#define DAL_LANES1(name, f) DAL_CALL dal_v name(dal_v a) { for (int k = 0; k < DAL_L; k++) a[k] = f(a[k]); return a; }
#define DAL_LANES2(name, f) DAL_CALL dal_v name(dal_v a, dal_v b) { for (int k = 0; k < DAL_L; k++) a[k] = f(a[k], b[k]); return a; }
DAL_LANES1(dal_sqrt, sqrt) DAL_LANES1(dal_floor, floor) DAL_LANES1(dal_ceil, ceil)
DAL_LANES1(dal_log, log) DAL_LANES1(dal_expm1, expm1) DAL_LANES1(dal_log1p, log1p) DAL_LANES1(dal_tan, tan)
DAL_LANES1(dal_asin, asin) DAL_LANES1(dal_acos, acos) DAL_LANES1(dal_atan, atan) DAL_LANES1(dal_sinh, sinh)
DAL_LANES1(dal_cosh, cosh) DAL_LANES1(dal_asinh, asinh) DAL_LANES1(dal_acosh, acosh)
DAL_LANES1(dal_atanh, atanh) DAL_LANES1(dal_erf, erf)
DAL_LANES2(dal_pow, pow) DAL_LANES2(dal_fmod, fmod) DAL_LANES2(dal_remainder, remainder)
DAL_LANES2(dal_atan2, atan2) DAL_LANES2(dal_hypot, hypot)

/* Winitzki's guess, then Newton with Halley's correction on erfc, which keeps its digits where erf saturates. */
static double dal_erfinv1(double x)
{
    double a = fabs(x);
    if (!(a < 1.0)) return a == 1.0 ? copysign(INFINITY, x) : NAN;
    if (a < 1e-8) return x * 0.88622692545275801365;
    double l = log1p(-a * a), h = 4.3307467508 + 0.5 * l, w = sqrt(sqrt(h * h - l / 0.147) - h);
    for (int k = 0; k < 4; k++) {
        double f = (a > 0.5 ? (1.0 - a) - erfc(w) : erf(w) - a) / (1.12837916709551257390 * exp(-w * w));
        w -= f / (1.0 + w * f);
    }
    return copysign(w, x);
}
DAL_LANES1(dal_erfinv, dal_erfinv1)

/*
 * Sine and cosine: Cody and Waite reduction by pi/2 in three parts of 33 bits (the products with the quadrant number
 * are exact below 2^20 quadrants), then the polynomials of fdlibm on [-pi/4, pi/4]. About one unit in the last place.
 * Larger arguments, inf and NaN go to libm, lane by lane.
 */
DAL_CALL void dal_sincos(dal_v x, dal_v *sine, dal_v *cosine)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer held in the low bits */
    dal_v t = x * 6.36619772367581382433e-01 + shift, n = t - shift;
    dal_m q = (dal_m)t;
    dal_v r = x - n * 1.57079632673412561417e+00;
    dal_v w = n * 6.07710050630396597660e-11, y = r - w;
    w = n * 2.02226624879595063154e-21 - ((r - y) - w);
    dal_v lo = w;
    r = y - lo;
    lo = (y - r) - lo; /* r + lo is the reduced argument */
    dal_v z = r * r;
    dal_v ps = -1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04
        + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))));
    dal_v s = r + (r * z * ps + lo);
    dal_v pc = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05
        + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))));
    dal_v hz = 0.5 * z, u = 1.0 - hz;
    dal_v c = u + (((1.0 - u) - hz) + (z * z * pc - r * lo));
    dal_m swap = (q & 1) != 0;
    dal_v a = dal_pick(swap, c, s), b = dal_pick(swap, s, c);
    a = (dal_v)((dal_m)a ^ ((q & 2) << 62));
    b = (dal_v)((dal_m)b ^ (((q + 1) & 2) << 62));
    dal_m hard = ~(dal_fabs(x) <= 1e5);
    if (__builtin_expect(dal_any(hard), 0))
        for (int k = 0; k < DAL_L; k++)
            if (hard[k]) { a[k] = sin(x[k]); b[k] = cos(x[k]); }
    *sine = a;
    *cosine = b;
}

/*
 * x = n ln 2 + r with |r| <= 0.35: returns 2^n and exp(r) - 1, whose Taylor series to the 13th power leaves 4e-18.
 * For |x| < 708, so that 2^n is a normal number.
 */
DAL_INLINE dal_v dal_exp_parts(dal_v x, dal_v *power)
{
    const double shift = 6755399441055744.0;
    dal_v t = x * 1.44269504088896338700e+00 + shift, n = t - shift;
    *power = (dal_v)(((dal_m)t - (dal_m)dal_set(shift) + 1023) << 52);
    dal_v r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    dal_v p = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
    p = 1.0 / 3628800.0 + r * (1.0 / 39916800.0 + r * p);
    p = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * p);
    p = 1.0 / 720.0 + r * (1.0 / 5040.0 + r * p);
    p = 1.0 / 24.0 + r * (1.0 / 120.0 + r * p);
    return r + r * r * (0.5 + r * (1.0 / 6.0 + r * p));
}

DAL_CALL dal_v dal_exp(dal_v x)
{
    dal_v power, p = dal_exp_parts(x, &power), e = power + power * p;
    dal_m hard = ~(dal_fabs(x) <= 700.0);
    if (__builtin_expect(dal_any(hard), 0))
        for (int k = 0; k < DAL_L; k++)
            if (hard[k]) e[k] = exp(x[k]);
    return e;
}

/* tanh x = m / (m + 2) with m = exp(2 |x|) - 1, which keeps its digits near zero; beyond 20 it rounds to 1. */
DAL_CALL dal_v dal_tanh(dal_v x)
{
    dal_v a = dal_fabs(x), power, p = dal_exp_parts(2.0 * dal_fmin(a, dal_set(20.0)), &power);
    dal_v m = (power - 1.0) + power * p;
    return dal_pick(x == x, dal_copysign(m / (m + 2.0), x), x);
}

/*
 * The integrator of a simulated robot, the same step for step as stepper.py. Generated text before it defines the sizes
 * DAL_NY DAL_R DAL_N DAL_M DAL_NC DAL_NS DAL_NX and the functions dal_rates, dal_friction, dal_slip, dal_correct,
 * dal_locate and dal_law.
 *
 * Dry friction: mode +-1 slides with that sign, mode 0 is held by the sign that keeps its velocity zero, found in
 * [-1, 1] by a complementarity problem on accelerations. A sliding velocity that changes sign inside a step is met
 * where it is zero (Illinois iteration on the step's length), so the order of the Runge-Kutta method is kept.
 */
#include <math.h>
#include <string.h>

#define DAL_E (DAL_NY + DAL_R + 2)
#define DAL_STAGES 7
#define DAL_DEPENDENT 1e-10 /* share of its diagonal a column keeps that depends on others: rounding leaves 1e-15 */
#define DAL_DUST 1e-18 /* [rad/s or m/s] what rounding leaves of a velocity that is held */
enum { DAL_FINE, DAL_DIVERGED, DAL_SINGULAR, DAL_OPEN, DAL_STIFF };

typedef struct { double y[DAL_NY], v[DAL_R], e[2]; } dal_state;

typedef struct {
    /* set by the caller */
    const double *pi, *limit, *theta_map, *noise, *quantum, *tableau;
    const double *const *channels; /* references of the controller, sample by sample */
    const double *gains, *pi_model;
    double *q, *tau, *y, *v, *vd, *e, *theta, *x, *y_model;
    double h, delay, tolerance_r, tolerance_a, rest, far, spread;
    long long samples, substeps, control_every, stages, order, adaptive, event_limit, locate_steps;
    /* state */
    dal_state s;
    double held_tau[DAL_N], sign[DAL_M], w[DAL_M], h_next;
    long long mode[DAL_M], active[DAL_M], slipped[DAL_M], held, saturated;
    long long steps, rejected, events, chatter, first;
    double *vd_out;
} dal_run;

long long dal_size(void) { return (long long)sizeof(dal_run); }

static double dal_clip(double a) { return a > 1.0 ? 1.0 : a < -1.0 ? -1.0 : a; }

/* x of A x = b over the chosen rows, Gauss with row exchanges; columns that depend on those before them get zero. */
static void dal_solve(const double *A, const double *b, const long long *chosen, double *x)
{
    double m[DAL_M][DAL_M + 1];
    int index[DAL_M], pivot[DAL_M], n = 0, row = 0;
    for (int k = 0; k < DAL_M; k++) {
        x[k] = 0.0;
        if (chosen[k]) index[n++] = k;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) m[i][j] = A[index[i] * DAL_M + index[j]];
        m[i][n] = b[index[i]];
    }
    for (int i = 0; i < n; i++) {
        int best = row;
        for (int k = row + 1; k < n; k++) if (fabs(m[k][i]) > fabs(m[best][i])) best = k;
        pivot[i] = -1;
        if (row == n || !(fabs(m[best][i]) > DAL_DEPENDENT * fabs(A[index[i] * DAL_M + index[i]]))) continue;
        for (int j = 0; j <= n; j++) { double t = m[row][j]; m[row][j] = m[best][j]; m[best][j] = t; }
        for (int k = row + 1; k < n; k++) {
            double f = m[k][i] / m[row][i];
            for (int j = i; j <= n; j++) m[k][j] -= f * m[row][j];
        }
        pivot[i] = row++;
    }
    for (int i = n - 1; i >= 0; i--) {
        if (pivot[i] < 0) continue;
        double t = m[pivot[i]][n];
        for (int j = i + 1; j < n; j++) t -= m[pivot[i]][j] * x[index[j]];
        x[index[i]] = t / m[pivot[i]][i];
    }
}

/* wd = free - A sign */
static void dal_slip_rates(const double *A, const double *free, const double *sign, double *wd)
{
    for (int k = 0; k < DAL_M; k++) {
        wd[k] = free[k];
        for (int j = 0; j < DAL_M; j++) wd[k] -= A[k * DAL_M + j] * sign[j];
    }
}

/* Signs of the held velocities: wd = 0 inside [-1, 1], wd > 0 at 1, wd < 0 at -1. Projected Gauss-Seidel, polished. */
static void dal_complementarity(const double *A, const double *free, const long long *mode, double *sign)
{
    double wd[DAL_M], step[DAL_M], scale = 0.0;
    long long inside[DAL_M];
    for (int k = 0; k < DAL_M; k++) scale = fmax(scale, fabs(free[k]) + fabs(A[k * DAL_M + k]));
    for (int round = 0; round < 6; round++) {
        for (int sweep = 0; sweep < 40; sweep++) {
            double change = 0.0;
            for (int k = 0; k < DAL_M; k++) {
                if (mode[k]) continue;
                double r = free[k], old = sign[k];
                for (int j = 0; j < DAL_M; j++) r -= A[k * DAL_M + j] * sign[j];
                sign[k] = dal_clip(old + r / A[k * DAL_M + k]);
                change = fmax(change, fabs(sign[k] - old) * A[k * DAL_M + k]);
            }
            if (change <= 1e-14 * scale) return;
        }
        dal_slip_rates(A, free, sign, wd);
        for (int k = 0; k < DAL_M; k++) inside[k] = !mode[k] && fabs(sign[k]) < 1.0;
        dal_solve(A, wd, inside, step);
        for (int k = 0; k < DAL_M; k++) if (inside[k]) sign[k] = dal_clip(sign[k] + step[k]);
    }
}

/* Rates of the state (DAL_E) at the present modes. */
static void dal_stage(dal_run *u, const dal_state *s, const double *tau, double *k)
{
    if (u->held) {
        double w[DAL_M], free[DAL_M], A[DAL_M * DAL_M], B[DAL_R * DAL_M];
        dal_friction(s->y, s->v, tau, u->pi, w, free, A, B);
        dal_complementarity(A, free, u->mode, u->sign);
        for (int j = 0; j < DAL_M; j++) if (!u->mode[j] && fabs(u->sign[j]) >= 1.0) u->slipped[j] = 1;
    }
    dal_rates(s->y, s->v, tau, u->pi, u->sign, k, k + DAL_NY, k + DAL_NY + DAL_R);
}

/* Loops closed by Newton: 0 when closed, else why not. */
static int dal_close(dal_run *u, double *y)
{
#if DAL_NC
    double c[DAL_NC], next[DAL_NY], size;
    for (int round = 0; round < 8; round++) {
        double worst = 0.0;
        dal_correct(y, next, c, &size);
        for (int k = 0; k < DAL_NC; k++) worst = fmax(worst, fabs(c[k]));
        if (!(worst < 1e-2)) return DAL_OPEN; /* [m or rad] no step of a sound motion opens a loop this far */
        memcpy(y, next, sizeof next);
        if (!(size < u->spread)) return DAL_SINGULAR;
        if (worst < 1e-7) return DAL_FINE; /* the step just taken leaves its square */
    }
    return DAL_OPEN;
#else
    (void)u; (void)y;
    return DAL_FINE;
#endif
}

/* One Runge-Kutta step of length h from u->s, into n; the estimated error relative to the tolerance, and w there. */
static int dal_attempt(dal_run *u, double h, const double *tau, dal_state *n, double *w, double *error)
{
    double k[DAL_STAGES][DAL_E];
    const double *a = u->tableau, *b = a + DAL_STAGES * DAL_STAGES, *low = b + DAL_STAGES;
    const double *from = u->s.y;
    for (int i = 0; i < u->stages; i++) {
        dal_state at = u->s;
        double *to = at.y;
        for (int j = 0; j < i; j++) {
            double f = h * a[i * DAL_STAGES + j];
            if (f != 0.0) for (int x = 0; x < DAL_NY + DAL_R; x++) to[x] += f * k[j][x];
        }
        dal_stage(u, &at, tau, k[i]);
    }
    if (u->vd_out) { memcpy(u->vd_out, k[0] + DAL_NY, DAL_R * sizeof(double)); u->vd_out = 0; }
    double *to = n->y, worst = 0.0;
    for (int x = 0; x < DAL_E; x++) {
        double sum = 0.0, gap = 0.0;
        for (int i = 0; i < u->stages; i++) { sum += b[i] * k[i][x]; gap += low[i] * k[i][x]; }
        to[x] = from[x] + h * sum;
        if (x < DAL_NY + DAL_R)
            worst = fmax(worst, fabs(h * gap) / (u->tolerance_a + u->tolerance_r * fmax(fabs(from[x]), fabs(to[x]))));
        if (!(fabs(to[x]) < u->far)) return DAL_DIVERGED;
    }
    *error = worst;
    int fault = dal_close(u, n->y);
    if (!fault) dal_slip(n->y, n->v, w);
    return fault;
}

/* Velocities that are held or just came to rest are made exactly zero, then those that break away are released. */
static void dal_settle(dal_run *u, const double *tau)
{
    double free[DAL_M], A[DAL_M * DAL_M], B[DAL_R * DAL_M], wd[DAL_M], x[DAL_M], scale = 0.0;
    long long chosen[DAL_M];
    u->held = 0;
    for (int k = 0; k < DAL_M; k++) {
        chosen[k] = u->mode[k] == 0;
        u->held += chosen[k];
        if (u->mode[k]) u->sign[k] = (double)u->mode[k];
    }
    if (!u->held) return;
    for (int round = 0; round < 3; round++) {
        double moved = 0.0;
        dal_friction(u->s.y, u->s.v, tau, u->pi, u->w, free, A, B);
        for (int k = 0; k < DAL_M; k++) if (chosen[k]) moved = fmax(moved, fabs(u->w[k]));
        if (moved <= DAL_DUST) break;
        dal_solve(A, u->w, chosen, x);
        for (int i = 0; i < DAL_R; i++) for (int k = 0; k < DAL_M; k++) u->s.v[i] -= B[i * DAL_M + k] * x[k];
    }
    for (int k = 0; k < DAL_M; k++) if (chosen[k]) u->w[k] = 0.0;
    for (int i = 0; i < DAL_R; i++) if (fabs(u->s.v[i]) <= DAL_DUST) u->s.v[i] = 0.0;
    dal_complementarity(A, free, u->mode, u->sign);
    dal_slip_rates(A, free, u->sign, wd);
    for (int k = 0; k < DAL_M; k++) scale = fmax(scale, fabs(free[k]) + fabs(A[k * DAL_M + k]));
    for (int k = 0; k < DAL_M; k++)
        if (chosen[k] && fabs(u->sign[k]) >= 1.0 && u->sign[k] * wd[k] > 1e-12 * scale) {
            u->mode[k] = u->sign[k] > 0.0 ? 1 : -1;
            u->held--;
        }
}

/* Least of mode * w over the velocities of a set, those that cross zero inside the step. */
static double dal_nearest(const dal_run *u, const long long *crossing, const double *w)
{
    double least = INFINITY;
    for (int k = 0; k < DAL_M; k++) if (crossing[k]) least = fmin(least, (double)u->mode[k] * w[k]);
    return least;
}

/* The step's length at which the first of the crossing velocities is zero: Illinois, with a bisection in every third. */
static int dal_meet(dal_run *u, double *h, const long long *crossing, const double *tau, dal_state *n, double *w)
{
    double lo = 0.0, hi = *h, g_lo = dal_nearest(u, crossing, u->w), g_hi = dal_nearest(u, crossing, w), error;
    for (int round = 0; round < 60; round++) {
        double at = round % 3 == 2 ? 0.5 * (lo + hi) : (lo * g_hi - hi * g_lo) / (g_hi - g_lo);
        if (!(at > lo && at < hi)) at = 0.5 * (lo + hi);
        int fault = dal_attempt(u, at, tau, n, w, &error);
        if (fault) return fault;
        double g = dal_nearest(u, crossing, w);
        *h = at;
        if (fabs(g) <= u->rest || hi - lo < 1e-15 * hi) break;
        if (g < 0.0) { hi = at; g_hi = g; g_lo *= round % 3 == 2 ? 1.0 : 0.5; }
        else { lo = at; g_lo = g; g_hi *= round % 3 == 2 ? 1.0 : 0.5; }
    }
    return DAL_FINE;
}

/* New modes after a step of length h ended at w. */
static void dal_accept(dal_run *u, const dal_state *n, const double *w)
{
    u->s = *n;
    for (int k = 0; k < DAL_M; k++) {
        u->w[k] = w[k];
        if (!u->active[k]) { u->mode[k] = w[k] < 0.0 ? -1 : 1; continue; }
        if (u->mode[k] && (double)u->mode[k] * w[k] <= u->rest) u->mode[k] = 0;
        else if (!u->mode[k] && u->slipped[k] && u->sign[k] * w[k] > u->rest) u->mode[k] = w[k] > 0.0 ? 1 : -1;
    }
    u->steps++;
}

/* Modes of a step that cannot be: a velocity that started from rest and would go the other way is held instead. */
static int dal_hold_back(dal_run *u, const long long *at_rest, const double *w)
{
    int changed = 0;
    for (int k = 0; k < DAL_M; k++)
        if (u->active[k] && u->mode[k] && at_rest[k] && (double)u->mode[k] * w[k] < -u->rest) {
            u->mode[k] = 0;
            u->held++;
            changed = 1;
        }
    return changed;
}

static int dal_advance(dal_run *u, double span, const double *tau)
{
    double left = span;
    int events = 0;
    dal_settle(u, tau);
    while (left > 1e-13 * span) {
        double h = u->adaptive ? fmin(left, u->h_next) : left, w[DAL_M], error;
        long long at_rest[DAL_M], crossing[DAL_M], any = 0;
        dal_state n;
        for (int k = 0; k < DAL_M; k++) { at_rest[k] = fabs(u->w[k]) <= u->rest; u->slipped[k] = 0; }
        for (;;) {
            int fault = dal_attempt(u, h, tau, &n, w, &error);
            if (u->adaptive && (fault || error > 1.0)) {
                h *= fault ? 0.1 : fmax(0.2, 0.9 * pow(error, -1.0 / (double)u->order));
                u->h_next = h;
                u->rejected++;
                if (h < 1e-9 * span) return fault ? fault : DAL_STIFF;
                continue;
            }
            if (fault) return fault;
            if (!dal_hold_back(u, at_rest, w)) break;
        }
        for (int k = 0; k < DAL_M; k++) {
            crossing[k] = u->active[k] && u->mode[k] && (double)u->mode[k] * w[k] < -u->rest;
            any |= crossing[k];
        }
        if (any && events < u->event_limit) {
            int fault = dal_meet(u, &h, crossing, tau, &n, w);
            if (fault) return fault;
            events++;
            u->events++;
        } else if (any) u->chatter++;
        dal_accept(u, &n, w);
        left -= h;
        dal_settle(u, tau);
        if (u->adaptive && !any) {
            double grown = h * fmin(5.0, 0.9 * pow(fmax(error, 1e-10), -1.0 / (double)u->order));
            u->h_next = h < u->h_next ? fmax(u->h_next, grown) : grown;
        }
    }
    return DAL_FINE;
}

/* Before the first sample: which velocities dry friction acts on, and which of them rest. */
void dal_start(dal_run *u)
{
    double free[DAL_M], A[DAL_M * DAL_M], B[DAL_R * DAL_M], none[DAL_N] = {0};
    dal_close(u, u->s.y);
    dal_friction(u->s.y, u->s.v, none, u->pi, u->w, free, A, B);
    for (int k = 0; k < DAL_M; k++) {
        u->active[k] = A[k * DAL_M + k] > 0.0;
        u->mode[k] = u->active[k] && fabs(u->w[k]) <= u->rest ? 0 : u->w[k] < 0.0 ? -1 : 1;
        u->sign[k] = (double)u->mode[k];
    }
}

/* Positions as the sensors give them at sample i: late, noisy, in whole steps. */
void dal_sense(dal_run *u, long long i)
{
    double *theta = u->theta + i * DAL_NS, *q = u->q + i * DAL_NS;
    for (int s = 0; s < DAL_NS; s++) {
        theta[s] = 0.0;
        for (int k = 0; k < DAL_NY; k++) theta[s] += u->theta_map[s * DAL_NY + k] * u->s.y[k];
    }
    double when = fmax((double)i - u->delay, 0.0), whole = floor(when);
    long long early = (long long)whole, late = early < i ? early + 1 : i;
    for (int s = 0; s < DAL_NS; s++) {
        double a = u->theta[early * DAL_NS + s], b = u->theta[late * DAL_NS + s];
        q[s] = a + (when - whole) * (b - a);
        if (u->noise) q[s] += u->noise[i * DAL_NS + s];
        if (u->quantum[s] > 0.0) q[s] = rint(q[s] / u->quantum[s]) * u->quantum[s];
    }
}

/* Torques asked for at sample i are cut to the limits, applied and held; the state moves to sample i + 1. */
int dal_apply(dal_run *u, long long i)
{
    double *tau = u->tau + i * DAL_N;
    int full = 0;
    for (int k = 0; k < DAL_N; k++) {
        if (!(fabs(tau[k]) < INFINITY)) return DAL_DIVERGED;
        if (fabs(tau[k]) > u->limit[k]) { tau[k] = copysign(u->limit[k], tau[k]); full = 1; }
    }
    u->saturated += full;
    memcpy(u->y + i * DAL_NY, u->s.y, sizeof u->s.y);
    memcpy(u->v + i * DAL_R, u->s.v, sizeof u->s.v);
    memcpy(u->e + i * 2, u->s.e, sizeof u->s.e);
    u->vd_out = u->vd + i * DAL_R;
    if (i + 1 >= u->samples) {
        double k[DAL_E];
        dal_settle(u, tau);
        dal_stage(u, &u->s, tau, k);
        memcpy(u->vd_out, k + DAL_NY, DAL_R * sizeof(double));
        return DAL_FINE;
    }
    for (long long j = 0; j < u->substeps; j++) {
        int fault = dal_advance(u, u->h, tau);
        if (fault) return fault;
    }
    return DAL_FINE;
}

/* Samples first .. last - 1 under the compiled control law; the sample that failed and why, or last and 0. */
int dal_simulate(dal_run *u, long long first, long long last, long long *reached)
{
    for (long long i = first; i < last; i++) {
        *reached = i;
        dal_sense(u, i);
        if (i % u->control_every == 0) {
            for (long long j = 0; j < u->locate_steps; j++) {
                double next[DAL_NY];
                dal_locate(u->y_model, u->q + i * DAL_NS, next);
                memcpy(u->y_model, next, sizeof next);
            }
            dal_law(u, i / u->control_every, u->q + i * DAL_NS, u->tau + i * DAL_N);
        } else
            memcpy(u->tau + i * DAL_N, u->tau + (i - 1) * DAL_N, DAL_N * sizeof(double));
        int fault = dal_apply(u, i);
        if (fault) return fault;
    }
    *reached = last;
    return DAL_FINE;
}

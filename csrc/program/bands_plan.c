/* Which waiting maps may run in bands together, and how far behind one another (see bands.c).
 *
 * Row r of a map B conflicts with those rows r' of an earlier map A that touch the same bytes, where one of the two writes:
 * r + p <= r' <= r + q, since both go through memory in steps of one length. If B runs q rows behind A, A is always done
 * with what B needs. Maps of a few rows (borders) run when all bands are done, and so do rows of the others that conflict
 * with these: where an array is periodic, its first rows depend on its last ones.
 *
 *     A: u[1:-1] = f(x)    B: u[0] = u[-2]    C: y = u[2:] - u[:-2]
 *     bands of A, and two rows behind it of C from row 1 on; then B; then row 0 of C
 *
 * An array that only these maps touch need not be there as a whole: its rows lie in a buffer that holds as many as are
 * between the first map and the last, besides the first and last ones that are needed at the end.
 */
#include "bands.h"

DlBandLimits dl_bands_limits = {.least = 1 << 19, .band = 1 << 19, .passing = 1 << 15, .border = 16};

enum { BEYOND_CACHE = 12 }; /* bands are so many times less than all that the maps touch */

/* ---- what maps touch ---- */

static npy_intp
greatest_common_divisor(npy_intp a, npy_intp b)
{
    while (b != 0) {
        npy_intp rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static npy_intp
floor_div(npy_intp a, npy_intp b)
{
    return a / b - (a % b < 0);
}

void
dl_bands_describe(const DlBands *bands, DlWaiting *waiting)
{
    int axis = 0;
    const DlSpread *last = &waiting->spreads[waiting->n - 1];
    for (int i = 1; i < waiting->nd; i++) {
        axis = waiting->shape[i] > 1 && (waiting->shape[axis] == 1 || last->strides[i] > last->strides[axis]) ? i : axis;
    }
    waiting->axis = axis;
    waiting->rows = waiting->shape[axis];
    for (int i = 0; i < waiting->n; i++) {
        const DlSpread *spread = &waiting->spreads[i];
        DlAccess *access = &waiting->accesses[i];
        *access = (DlAccess){.data = NULL, .made = -1};
        if (!spread->is_array) {
            continue;
        }
        npy_intp shape[DL_MAX_DIMS];
        memcpy(shape, waiting->shape, sizeof shape);
        shape[axis] = 1;
        DlBytes bytes = dl_bytes_of(spread->data, spread->itemsize, waiting->nd, shape, spread->strides);
        access->data = spread->data;
        access->step = spread->strides[axis];
        access->low = bytes.low - spread->data;
        access->high = bytes.high - spread->data;
        access->writes = i >= waiting->first_result;
        access->itemsize = spread->itemsize;
        for (int k = 0; k < waiting->nd; k++) {
            access->grid = greatest_common_divisor(access->grid, waiting->shape[k] > 1 ? spread->strides[k] : 0);
        }
        for (int k = bands->n_made - 1; k >= 0; k--) {
            const DlMade *made = &bands->made[k];
            if (made->array != NULL && spread->data >= made->data && spread->data < made->data + made->bytes) {
                access->made = k;
                access->first = made->row ? (spread->data - made->data) / made->row : 0;
                break;
            }
        }
    }
}

DlBytes
dl_bands_bytes(const DlAccess *access, npy_intp first, npy_intp end)
{
    npy_intp one = first * access->step, other = (end - 1) * access->step;
    return (DlBytes){access->data + (one < other ? one : other) + access->low,
                     access->data + (one < other ? other : one) + access->high};
}

/* ---- conflicts ---- */

/* Whether the elements of two accesses lie side by side, and never meet: those of x[:, :, 0] and x[:, :, 1]. */
static int
are_interleaved(const DlAccess *one, const DlAccess *other)
{
    npy_intp grid = greatest_common_divisor(one->grid, other->grid);
    if (grid == 0) {
        return 0;
    }
    npy_intp apart = (other->data - one->data) % grid;
    apart += apart < 0 ? grid : 0;
    return apart >= one->itemsize && apart + other->itemsize <= grid;
}

/* Take the rows that touch these bytes out of those that run in bands. */
static void
leave_out(DlWaiting *waiting, const DlAccess *access, DlBytes bytes)
{
    npy_intp first = waiting->begin, last = waiting->end - 1;
    if (first > last || !dl_bytes_meet(dl_bands_bytes(access, first, last + 1), bytes)) {
        return;
    }
    if (access->step > 0) {
        npy_intp from = floor_div(bytes.low - access->data - access->high, access->step) + 1;
        npy_intp to = floor_div(bytes.high - 1 - access->data - access->low, access->step);
        first = from > first ? from : first;
        last = to < last ? to : last;
    }
    if (first > last) {
        return;
    }
    if (access->step > 0 && first - waiting->begin > waiting->end - 1 - last) {
        waiting->end = first;
    }
    else {
        waiting->begin = last + 1;
    }
}

/* Have `later` run far enough behind `earlier` for these two accesses; 0 where it cannot. */
static int
follow(DlWaiting *later, const DlAccess *its, const DlWaiting *earlier, const DlAccess *other)
{
    if (earlier->begin > 0) {
        leave_out(later, its, dl_bands_bytes(other, 0, earlier->begin));
    }
    if (earlier->end < earlier->rows) {
        leave_out(later, its, dl_bands_bytes(other, earlier->end, earlier->rows));
    }
    if (earlier->begin >= earlier->end || later->begin >= later->end
        || !dl_bytes_meet(dl_bands_bytes(its, later->begin, later->end), dl_bands_bytes(other, earlier->begin, earlier->end))) {
        return 1;
    }
    npy_intp step = its->step, apart = its->data - other->data;
    if (step <= 0 || other->step != step) {
        return 0;
    }
    npy_intp p = floor_div(apart + its->low - other->high, step) + 1;
    npy_intp q = -floor_div(-(apart + its->high - other->low), step) - 1;
    if (p <= q && earlier->lag + q > later->lag) {
        later->lag = earlier->lag + q;
    }
    return 1;
}

/* The same for all that they touch. */
static int
follow_all(DlWaiting *later, const DlWaiting *earlier)
{
    for (int a = 0; a < later->n; a++) {
        const DlAccess *its = &later->accesses[a];
        for (int b = its->writes ? 0 : earlier->first_result; b < earlier->n && its->data != NULL; b++) {
            const DlAccess *met = &earlier->accesses[b];
            if (met->data != NULL && !are_interleaved(its, met) && !follow(later, its, earlier, met)) {
                return 0;
            }
        }
    }
    return 1;
}

int
dl_bands_join(DlBands *bands)
{
    int k = bands->n - 1;
    DlWaiting *waiting = &bands->waiting[k];
    const DlWaiting *leader = &bands->waiting[0];
    const DlAccess *result = &waiting->accesses[waiting->n - 1];
    npy_intp most_rows = leader->rows;
    waiting->lag = waiting->begin = 0;
    int is_border = waiting->rows <= dl_bands_limits.border || 2 * result->step < leader->accesses[leader->n - 1].step;
    waiting->end = is_border ? 0 : waiting->rows;
    if (is_border) {
        return 1;
    }
    if (result->step <= 0 || waiting->rows > 2 * most_rows || 2 * waiting->rows < most_rows) {
        return 0;
    }
    for (int i = 0; i < k; i++) {
        if (!follow_all(waiting, &bands->waiting[i])) {
            return 0;
        }
    }
    npy_intp apart = waiting->begin + waiting->rows - waiting->end;
    return apart <= waiting->rows / 4 && waiting->lag <= waiting->rows / 4;
}

/* ---- buffers ---- */

/* Note which rows of an array one access touches; 0 where they are none of its rows. */
static int
touch(DlMade *made, const DlWaiting *waiting, const DlAccess *access)
{
    npy_intp at = access->data - made->data - access->first * made->row, first = access->first;
    npy_intp rest = access->step == made->row ? 0 : (waiting->rows - 1) * access->step; /* NB: a map within one row */
    if (at + access->low < 0 || rest < 0 || at + access->high + rest > made->row
        || (access->step != made->row && waiting->end != 0)) {
        return 0;
    }
    if (waiting->begin < waiting->end) {
        npy_intp offset = first - waiting->lag;
        made->least = offset < made->least ? offset : made->least;
        made->most = offset > made->most ? offset : made->most;
    }
    npy_intp parts[2][2] = {{0, waiting->begin}, {waiting->end, rest == 0 ? waiting->rows : 1}};
    for (int i = 0; i < 2; i++) {
        npy_intp from = first + parts[i][0], to = first + parts[i][1];
        if (from >= to) {
            continue;
        }
        if (to <= made->rows / 2) {
            made->head = to > made->head ? to : made->head;
        }
        else if (from >= made->rows / 2) {
            made->tail = from < made->tail ? from : made->tail;
        }
        else {
            return 0;
        }
    }
    return 1;
}

/* Whether nobody but the first n maps needs an array, so that its rows may lie in a buffer. */
static int
is_passing(DlBands *bands, int k, int n)
{
    DlMade *made = &bands->made[k];
    made->head = made->room = 0;
    made->tail = made->rows;
    made->least = made->rows;
    made->most = -made->rows;
    if (made->array == NULL || Py_REFCNT(made->array) != 1 || made->bytes < dl_bands_limits.passing || made->row == 0
        || made->to > n || made->is_there) {
        return 0;
    }
    for (int i = made->from; i < made->to; i++) {
        const DlWaiting *waiting = &bands->waiting[i];
        for (int a = 0; a < waiting->n; a++) {
            if (waiting->accesses[a].made == k && !touch(made, waiting, &waiting->accesses[a])) {
                return 0;
            }
        }
    }
    if (made->least > made->most) {
        return 0;
    }
    npy_intp live = made->most - made->least + bands->rows;
    made->base = made->head;
    made->room = made->head + 2 * live + bands->rows + made->rows - made->tail;
    return 2 * made->room < made->rows;
}

/* Whether an access goes through an array made here row by row. NB: it may also go along one of its rows. */
static int
is_by_rows(const DlBands *bands, const DlAccess *access)
{
    return access->made >= 0 && access->step == bands->made[access->made].row;
}

/* How much memory a band of one row touches, about: what the maps make that run in bands, and what each reads besides. */
static npy_intp
bytes_of_band(const DlBands *bands, int n)
{
    npy_intp bytes = 0;
    for (int k = 0; k < bands->n_made; k++) {
        const DlMade *made = &bands->made[k];
        int touched = 0;
        for (int i = made->from; i < n && i < made->to && !touched; i++) {
            const DlWaiting *waiting = &bands->waiting[i];
            for (int a = 0; a < waiting->n && waiting->begin < waiting->end && !touched; a++) {
                touched = waiting->accesses[a].made == k && is_by_rows(bands, &waiting->accesses[a]);
            }
        }
        bytes += made->array != NULL && touched ? made->row : 0;
    }
    for (int k = 0; k < n; k++) {
        const DlWaiting *waiting = &bands->waiting[k];
        for (int a = 0; a < waiting->n && waiting->begin < waiting->end; a++) {
            const DlAccess *access = &waiting->accesses[a];
            int known = access->data == NULL || is_by_rows(bands, access) || access->step == 0;
            for (int b = 0; b < a && !known; b++) {
                const DlAccess *met = &waiting->accesses[b];
                known = met->data != NULL && met->data - access->data < 8 * access->step
                        && access->data - met->data < 8 * access->step;
            }
            bytes += known ? 0 : access->high - access->low;
        }
    }
    return bytes;
}

/* Whether bands would hold more memory at a time than one map after the other. */
static int
holds_more(const DlBands *bands, int n, const uint8_t *passing)
{
    npy_intp all = 0, most = 0;
    for (int k = 0; k < bands->n_made; k++) {
        const DlMade *made = &bands->made[k];
        all += made->array != NULL && !passing[k] ? made->bytes : 0;
    }
    for (int i = 0; i < n; i++) {
        npy_intp alive = 0;
        for (int k = 0; k < bands->n_made; k++) {
            const DlMade *made = &bands->made[k];
            int is_alive = made->array != NULL && made->from <= i && (made->to > i || Py_REFCNT(made->array) != 1);
            alive += is_alive ? made->bytes : 0;
        }
        most = alive > most ? alive : most;
    }
    return all > most + most / 8;
}

int
dl_bands_plan(DlBands *bands, int n)
{
    uint8_t passing[DL_BANDS_MADE];
    npy_intp most_rows = bands->waiting[0].rows;
    int many = 0;
    for (int i = 0; i < n; i++) {
        many += bands->waiting[i].begin < bands->waiting[i].end;
    }
    if (many < 2 || most_rows < 2 * dl_bands_limits.border) {
        return 0;
    }
    npy_intp one = bytes_of_band(bands, n);
    bands->rows = one > 0 && one < dl_bands_limits.band ? dl_bands_limits.band / one : 1;
    if (2 * bands->rows > most_rows || one * most_rows < BEYOND_CACHE * dl_bands_limits.band) {
        return 0;
    }
    for (int k = 0; k < bands->n_made; k++) {
        passing[k] = (uint8_t)is_passing(bands, k, n);
    }
    return !holds_more(bands, n, passing);
}

/* ready: what a program cannot run is found when it is made.
 *
 * Needs: a program, the texts of its library calls among it. Leaves: it as it is, or a decline at the line of the
 * module that the first call which the evaluator does not know comes from.
 *
 *     f = c64[8] fft(x), ..      model.hlo:7:3: declined: library: fft is a library call or a collective, and is not ..
 */
#include "program/program.h"

#include <string.h>

#include "eval/eval.h"

void prog_check_calls(WbbCx *cx, const ProgModule *p)
{
    WbbArena *a = wbb_arena_new(cx);
    WbbMap had = {.arena = a};
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->computations[i].n_steps; k++) {
            const ProgStep *s = &p->computations[i].steps[k];
            if (s->kind != PROG_LIBRARY || wbb_map_put_bytes(&had, s->file, strlen(s->file))->value++) continue;
            const WbbOrigin *former = wbb_come_from(cx, &s->from);
            ev_check(cx, hlo_parse(cx, a, s->file, s->text, strlen(s->text))->entry);
            wbb_come_from(cx, former);
        }
    wbb_arena_free(a);
}

/* price.c: what an instruction costs.
 *
 * Needs the tables that gen/ makes of patterns/prices.tsv and patterns/sass.tsv; leaves nothing. What a form is in
 * machine code was measured with ptxas, and computed to clocks by the target's rates, when the tables were made.
 *
 *     tg_price(tg_find("sm_90"), "div.full.f32", 12)->cycles[TG_PIPE_XU]     // 8: one MUFU at 16 lanes a clock
 *     tg_price(tg_find("sm_90"), "add.rn.f32 imm", 14)                       // that of "add.rn.f32"
 */
#include "target/target.h"

#include <string.h>

#include "tg_forms.h"

const char *const tg_pipe_name[TG_PIPES] = {"fma", "alu", "imad", "half", "f64", "xu", "lsu", "redux", "tensor", "uniform", "control"};

/* The order of `forms`, which is that of bytes. */
static int compare(const char *form, const char *text, size_t n)
{
    const int c = strncmp(form, text, n);
    return c ? c : form[n] != 0;
}

static const TgPrice *find(const TgTarget *t, const char *text, size_t n)
{
    size_t low = 0, high = t->n_forms;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int c = compare(t->forms[middle], text, n);
        if (c == 0) return t->price_of[middle] ? &t->prices[t->price_of[middle] - 1] : NULL;
        if (c < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

uint32_t tg_function_slots(const TgTarget *t, ScOp op, ScType type)
{
    for (uint32_t k = 0; k < t->n_lowerings; k++) {
        const TgLowering *l = &t->lowerings[k];
        if (l->op == op && l->type == type && !l->approx && l->sass) return l->sass;
    }
    return 0;
}

const TgPrice *tg_price(const TgTarget *t, const char *form, size_t n)
{
    if (!t->prices) return NULL;
    const TgPrice *p = find(t, form, n);
    const char *blank = p ? NULL : memchr(form, ' ', n);
    return blank ? find(t, form, (size_t)(blank - form)) : p;
}

/* Packed halves, which have a rate of their own in bf16: bit 85. */
static bool is_bf16(const TgSassAt *x)
{
    const uint32_t op = (uint32_t)(x->first & 0x1ff);
    return (op == 0x030 || op == 0x031 || op == 0x032 || op == 0x035) && x->second >> 21 & 1;
}

const TgSassPrice *tg_sass_price(const TgTarget *t, const TgSassAt *x)
{
    const uint32_t key = (uint32_t)(x->first & 0x1ff) + (is_bf16(x) ? 0x200 : 0);
    for (uint32_t i = 0; i < t->n_sass_prices; i++)
        if (t->sass_prices[i].operation == key) return &t->sass_prices[i];
    return NULL;
}

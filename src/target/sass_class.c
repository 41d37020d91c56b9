/* sass_class.c: the class of each machine operation, for counting.
 *
 * Needs an instruction of a target (sass.c); leaves its class: a number may be one operation on one GPU and another one
 * on the next, so patterns/sass.tsv says it by target. Here are those that have no price there; the names in comments
 * are nvdisasm's. The simulator counts PTX in the same classes. What is in neither table counts as `other`.
 *
 *     0x023 FFMA -> f32        0x181 LDG -> load        0x108 MUFU -> special
 */
#include "target/target.h"

const char *const tg_class_name[TG_CLASSES] = {"integer", "f16", "f32", "f64", "conversion", "special", "move", "load", "store", "atomic",
                                               "control", "barrier", "lanes", "matrix", "other"};

typedef struct {
    uint16_t operation;
    uint8_t class;
} Row;

static const Row rows[] = {
    {0x018, TG_INTEGER} /* SHF */, {0x037, TG_MATRIX} /* IMMA */, {0x03a, TG_MATRIX} /* MOVM */, {0x03c, TG_MATRIX} /* HMMA */,
    {0x03d, TG_MATRIX} /* BMMA */, {0x03f, TG_MATRIX} /* DMMA */,
};

TgClass tg_sass_class(const TgTarget *t, const TgSassAt *x)
{
    const TgSassPrice *known = tg_sass_price(t, x);
    if (known) return (TgClass)known->class;
    const uint32_t operation = (uint32_t)(x->first & 0x1ff);
    for (uint32_t k = 0; k < WBB_LEN(rows); k++)
        if (rows[k].operation == operation) return (TgClass)rows[k].class;
    return TG_OTHER;
}

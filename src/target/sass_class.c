/* sass_class.c: the class of each machine operation, for counting.
 *
 * Needs the number of an operation, the low 9 bits of an instruction (sass.c); leaves its class. The table was made
 * with nvdisasm from the kernels of three architectures; the names in comments are nvdisasm's. The simulator counts PTX
 * in the same classes. An operation that is not in the table counts as `other`.
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
    {0x002, TG_MOVE} /* MOV */, {0x003, TG_MOVE} /* P2R */, {0x004, TG_MOVE} /* R2P */, {0x005, TG_MOVE} /* CS2R */, {0x006, TG_LANES} /* VOTE */,
    {0x007, TG_MOVE} /* SEL */, {0x008, TG_MOVE} /* FSEL */, {0x009, TG_F32} /* FMNMX */, {0x00a, TG_F32} /* FSET */, {0x00b, TG_F32} /* FSETP */,
    {0x00c, TG_INTEGER} /* ISETP */, {0x010, TG_INTEGER} /* IADD3 */, {0x011, TG_INTEGER} /* LEA */, {0x012, TG_INTEGER} /* LOP3 */,
    {0x013, TG_INTEGER} /* IABS */, {0x016, TG_INTEGER} /* PRMT */, {0x017, TG_INTEGER} /* IMNMX */, {0x018, TG_INTEGER} /* SHF */,
    {0x019, TG_INTEGER} /* SHF */, {0x01a, TG_INTEGER} /* SGXT */, {0x01b, TG_INTEGER} /* BMSK */, {0x01c, TG_INTEGER} /* PLOP3 */,
    {0x020, TG_F32} /* FMUL */, {0x021, TG_F32} /* FADD */, {0x022, TG_F32} /* FSWZADD */, {0x023, TG_F32} /* FFMA */,
    {0x024, TG_INTEGER} /* IMAD */, {0x025, TG_INTEGER} /* IMAD.WIDE */, {0x026, TG_INTEGER} /* IDP */, {0x027, TG_INTEGER} /* IMAD.HI */,
    {0x028, TG_F64} /* DMUL */, {0x029, TG_F64} /* DADD */, {0x02a, TG_F64} /* DSETP */, {0x02b, TG_F64} /* DFMA */,
    {0x030, TG_F16} /* HADD2 */, {0x031, TG_F16} /* HFMA2 */, {0x032, TG_F16} /* HMUL2 */, {0x033, TG_F16} /* HSET2 */, {0x034, TG_F16} /* HSETP2 */,
    {0x035, TG_F16} /* HFMA2 */, {0x037, TG_MATRIX} /* IMMA */, {0x03a, TG_MATRIX} /* MOVM */, {0x03b, TG_LOAD} /* LDSM */,
    {0x03c, TG_MATRIX} /* HMMA */, {0x03d, TG_MATRIX} /* BMMA */, {0x03e, TG_CONVERSION} /* F2FP */, {0x03f, TG_MATRIX} /* DMMA */,
    {0x040, TG_F16} /* HMNMX2 */, {0x036, TG_INTEGER} /* VIADD */, {0x045, TG_CONVERSION} /* I2FP */,
    {0x046, TG_INTEGER} /* VIADDMNMX */, {0x048, TG_INTEGER} /* VIMNMX */, {0x082, TG_MOVE} /* UMOV */,
    {0x086, TG_LANES} /* VOTEU */, {0x087, TG_MOVE} /* USEL */, {0x08c, TG_INTEGER} /* UISETP */, {0x090, TG_INTEGER} /* UIADD3 */,
    {0x091, TG_INTEGER} /* ULEA */, {0x092, TG_INTEGER} /* ULOP3 */, {0x096, TG_INTEGER} /* UPRMT */, {0x099, TG_INTEGER} /* USHF */,
    {0x09a, TG_INTEGER} /* USGXT */, {0x09b, TG_INTEGER} /* UBMSK */, {0x09c, TG_INTEGER} /* UPLOP3 */, {0x0a4, TG_INTEGER} /* UIMAD */,
    {0x0a5, TG_INTEGER} /* UIMAD.WIDE */, {0x0b9, TG_MOVE} /* ULDC */, {0x0bd, TG_INTEGER} /* UFLO */, {0x0bf, TG_INTEGER} /* UPOPC */,
    {0x100, TG_INTEGER} /* FLO */, {0x101, TG_INTEGER} /* BREV */, {0x102, TG_F32} /* FCHK */, {0x104, TG_CONVERSION} /* F2F */,
    {0x105, TG_CONVERSION} /* F2I */, {0x106, TG_CONVERSION} /* I2F */, {0x107, TG_CONVERSION} /* FRND */, {0x108, TG_SPECIAL} /* MUFU */,
    {0x109, TG_INTEGER} /* POPC */, {0x110, TG_CONVERSION} /* F2F */, {0x111, TG_CONVERSION} /* F2I */, {0x112, TG_CONVERSION} /* I2F */,
    {0x113, TG_CONVERSION} /* FRND */, {0x118, TG_CONTROL} /* NOP */, {0x119, TG_MOVE} /* S2R */, {0x11a, TG_BARRIER} /* DEPBAR */,
    {0x11d, TG_BARRIER} /* BAR */, {0x141, TG_CONTROL} /* BSYNC */, {0x142, TG_CONTROL} /* BREAK */, {0x143, TG_CONTROL} /* CALL */,
    {0x144, TG_CONTROL} /* CALL */, {0x145, TG_CONTROL} /* BSSY */, {0x146, TG_CONTROL} /* YIELD */, {0x147, TG_CONTROL} /* BRA */,
    {0x148, TG_CONTROL} /* WARPSYNC */, {0x149, TG_CONTROL} /* BRX */, {0x14d, TG_CONTROL} /* EXIT */, {0x150, TG_CONTROL} /* RET */,
    {0x15c, TG_CONTROL} /* BPT */, {0x15d, TG_CONTROL} /* NANOSLEEP */, {0x180, TG_LOAD} /* LD */, {0x181, TG_LOAD} /* LDG */,
    {0x182, TG_MOVE} /* LDC */, {0x183, TG_LOAD} /* LDL */, {0x184, TG_LOAD} /* LDS */, {0x185, TG_STORE} /* ST */, {0x186, TG_STORE} /* STG */,
    {0x187, TG_STORE} /* STL */, {0x188, TG_STORE} /* STS */, {0x189, TG_LANES} /* SHFL */, {0x17e, TG_LOAD} /* LDG of 32 bytes */,
    {0x17f, TG_STORE} /* STG of 32 bytes */, {0x18a, TG_ATOMIC} /* ATOM */, {0x18b, TG_ATOMIC} /* ATOM */, {0x18c, TG_ATOMIC} /* ATOMS */,
    {0x18d, TG_ATOMIC} /* ATOMS */, {0x18e, TG_ATOMIC} /* RED */, {0x1a1, TG_LANES} /* MATCH */, {0x1a3, TG_ATOMIC} /* ATOMG */,
    {0x1a6, TG_ATOMIC} /* RED */, {0x1a8, TG_ATOMIC} /* ATOMG */, {0x1a9, TG_ATOMIC} /* ATOMG */, {0x1ab, TG_BARRIER} /* ERRBAR */,
    {0x192, TG_BARRIER} /* MEMBAR */, {0x1ae, TG_LOAD} /* LDGSTS */, {0x1af, TG_BARRIER} /* LDGDEPBAR */, {0x1c2, TG_MOVE} /* R2UR */,
    {0x1c3, TG_MOVE} /* S2UR */, {0x1c4, TG_LANES} /* REDUX */,
};

TgClass tg_sass_class(uint32_t operation)
{
    for (uint32_t k = 0; k < WBB_LEN(rows); k++)
        if (rows[k].operation == operation) return (TgClass)rows[k].class;
    return TG_OTHER;
}

/* turns: the blocks of a launch, or its clusters, take turns until all have ended.
 *
 * Needs: the list of plan.c, rounds of block.c. Leaves: memory as the blocks left it, and a report.
 *
 * Blocks run one after the other. One whose threads all wait in loops, for a flag or a lock, gives way: then the next
 * one of the list starts, or those that have begun go on in turn. Where the order is shuffled, a few blocks are under
 * way at a time, a seed decides which of them is next, and a warp's turn ends at some of its accesses to memory.
 *
 * A loop waits if it reads memory by strong accesses, or by atomic operations that leave it as it was. If all blocks
 * wait and read the same again and again, while no thread changes memory, none of them can go on: a deadlock. How many
 * blocks a GPU would hold at a time is not modelled: as many as wait.
 *
 *     block 0 waits for a flag of block 1   ->   turns of block 0, block 1 to its end, block 0 to its end
 */
#include "sim/inner.h"

enum {
    IN_FLIGHT = 4, /* clusters under way where the order is shuffled */
    PATIENCE = 8,  /* turns of each of these without news before one more is started: the holder of a lock had one */
    MANY = 64,     /* clusters that may wait before one more is started only if none of them can go on */
    IDLE = 128     /* turns of each cluster without any change, after which it is a deadlock */
};

/* The clusters that have begun and not ended, and those whose memory may be used again. */
typedef struct {
    struct { Cluster **items; uint32_t n, capacity; } begun, spare;
    uint64_t next; /* of the list */
    uint64_t turns, idle, news;
    uint32_t at;   /* whose turn it is */
} Turns;

/* True if a turn changed nothing that a thread may wait for. */
static bool idle(Machine *m, uint64_t *news, Turn turn)
{
    const bool same = turn == TURN_WAITS && m->news == *news;
    *news = m->news;
    return same;
}

/* All blocks wait, for what no thread will store. */
static void wait_forever(const Cluster *c, uint32_t clusters)
{
    for (int k = 0; k < c->n; k++) {
        Block *b = c->blocks[k];
        b->stop = true;
        for (int i = 0; i < b->n_warps; i++) {
            const Warp *w = &b->warps[i];
            if (w->done || !w->poll) continue;
            sim_fault(b, w, w->poll, w->poll_lane,
                      "deadlock: the thread waits for memory that no thread changes: the other threads wait, too, or "
                      "have ended (blocks under way: %u)",
                      clusters * (uint32_t)c->n);
            return;
        }
    }
}

void sim_turns_alone(Cluster *c, const SimPlan *p, uint64_t i)
{
    uint64_t turns = 0, news = 0;
    sim_plan_start(c, p, i);
    for (Turn turn; (turn = sim_cluster_turn(c)) != TURN_ENDED;) {
        turns = idle(c->blocks[0]->all, &news, turn) ? turns + 1 : 0;
        if (turns == IDLE) wait_forever(c, 1);
        if (sim_cluster_stopped(c)) return;
    }
}

static void begin(Turns *t, const Block *model, const SimPlan *p)
{
    Cluster *c;
    if (wbb_progress(model->cx, "blocks", (int64_t)t->next, (int64_t)p->n)) wbb_stop(model->cx);
    if (t->spare.n) {
        c = t->spare.items[--t->spare.n];
    } else {
        c = WBB_NEW(model->arena, Cluster);
        sim_plan_open(model, p, c);
    }
    sim_plan_start(c, p, t->next++);
    t->at = t->begun.n;
    WBB_PUSH(model->arena, &t->begun, c);
}

/* The cluster whose turn it was has ended: the one that waits longest is next. */
static void end(Turns *t, const Block *model)
{
    WBB_PUSH(model->arena, &t->spare, t->begun.items[t->at]);
    t->begun.n--;
    for (uint32_t i = t->at; i < t->begun.n; i++) t->begun.items[i] = t->begun.items[i + 1];
    t->at = 0;
}

/* Choose the cluster whose turn is next, starting one where that is due. */
static void choose(Turns *t, const Block *model, const SimPlan *p, bool waits)
{
    if (model->options->order == SIM_SHUFFLED) {
        while (t->begun.n < IN_FLIGHT && t->next < p->n) begin(t, model, p);
        if (t->idle > (uint64_t)PATIENCE * t->begun.n && t->next < p->n) begin(t, model, p);
        else if (t->begun.n) t->at = (uint32_t)(wbb_mix(model->options->order_seed ^ t->turns << 20) % t->begun.n);
        return;
    }
    const bool more = !t->begun.n || (waits && (t->begun.n < MANY || t->idle > t->begun.n));
    if (more && t->next < p->n) begin(t, model, p);
    else if (waits) t->at = (t->at + 1) % t->begun.n;
}

bool sim_turns(const Block *model, const SimPlan *p, SimReport *report)
{
    Turns t = {.next = 0};
    bool stop = false;
    Turn turn = TURN_MOVED;
    for (; !stop; t.turns++) {
        choose(&t, model, p, turn == TURN_WAITS);
        if (!t.begun.n) break;
        Cluster *c = t.begun.items[t.at];
        turn = sim_cluster_turn(c);
        t.idle = idle(model->all, &t.news, turn) ? t.idle + 1 : 0;
        if (t.idle > (uint64_t)IDLE * t.begun.n && t.next == p->n) wait_forever(c, t.begun.n);
        stop = sim_cluster_stopped(c);
        if (turn == TURN_ENDED) end(&t, model);
    }
    for (uint32_t i = 0; i < t.begun.n; i++) sim_plan_report(t.begun.items[i], report);
    for (uint32_t i = 0; i < t.spare.n; i++) sim_plan_report(t.spare.items[i], report);
    return !stop;
}

/* rules.c: `warpburg rules TOOL ..`: the list of tools, and what a call of each begins and ends with.
 *
 *     warpburg rules test 'add.bf16(x, 0.0)' --target sm_80
 */
#include "main/rules.h"

#include <stdio.h>

RulesCall *main_rules_call(const Call *call, const char *target, bool json)
{
    RulesCall *c = WBB_NEW(call->arena, RulesCall);
    WbbBuf *out = WBB_NEW(call->arena, WbbBuf);
    *out = wbb_buf(call->arena);
    *c = (RulesCall){.cx = call->cx, .arena = call->arena, .json = json, .out = out};
    if (target) c->target = tg_find(target);
    return c;
}

WbbStatus main_rules_end(const RulesCall *c, WbbStatus status)
{
    fputs(c->out->text, stdout);
    return status;
}

WbbBuf *main_json_begin(const RulesCall *c)
{
    wbb_json_open(c->out, NULL, '{');
    return c->out;
}

void main_json_end(const RulesCall *c)
{
    wbb_json_close(c->out, '}');
    wbb_put(c->out, "\n");
}

static const Command *const tools[] = {&main_rules_test,
                                       &main_rules_list,
                                       &main_rules_trace,
                                       &main_rules_why,
                                       &main_rules_cover,
                                       &main_rules_ablate,
                                       &main_rules_diff,
                                       &main_rules_size,
                                       &main_rules_budget,
                                       &main_rules_new_target,
                                       NULL};

const Command main_rules = {
    .name = "rules",
    .summary = "look at the rules: what they do, where they fire, what they are worth",
    .details = "A rule is named by its place, patterns/arith.py:29[neg.F]; arith.py:29 means every rule of that line. "
               "patterns/README.md describes how to write one.",
    .tools = tools,
};

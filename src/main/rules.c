/* rules.c: what a call of a tool of `warpburg rules` begins and ends with.
 *
 *     RulesCall *c = main_rules_call(call, o->target, o->json);
 *     if (c->json) wbb_json_text(main_json_begin(c), "rule", name), main_json_end(c, "rules-list.1");
 *         // {"rule": "arith.py:25", "schema": "rules-list.1"}
 *     return main_rules_end(c, WBB_OK);
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

void main_json_end(const RulesCall *c, const char *schema)
{
    wbb_json_end(c->out, schema);
    wbb_put(c->out, "\n");
}

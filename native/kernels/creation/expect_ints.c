/* expect_ints: fails unless every element of its input is one of those it may be: sizes that come with the
 * data, where the plan has those that the model declares.
 *   in (int64) -> out (bool, one element: true)
 * ints: asc_expect_ints_params */
#include "asc_plan.h"
#include "isa.h"

int32_t ASC_FN(expect_ints_prepare)(asc_call *call) {
    int64_t members = ASC_MEMBERS(asc_expect_ints_params), wanted;
    int64_t choices = call->n_ints >= members ? ASC_INTS_AS(asc_expect_ints_params, call)->choices : 0;
    ASC_REQUIRE(call, choices > 0 && asc_mul_ok(choices, asc_numel(&call->in[0]), &wanted), "expect_ints: no choices");
    ASC_REQUIRE(call, call->n_ints - members == wanted, "expect_ints: not as many choices as elements ask for");
    ASC_REQUIRE(call, asc_numel(&call->out[0]) == 1, "expect_ints: the output is not one element");
    return ASC_OK;
}

int32_t ASC_FN(expect_ints_run)(const asc_call *call) {
    const asc_expect_ints_params *p = ASC_INTS_AS(asc_expect_ints_params, call);
    const int64_t *given = call->in[0].data, *choices = p->allowed;
    int64_t count = asc_numel(&call->in[0]), n = p->choices;
    for (int64_t i = 0; i < count; i++, choices += n) {
        int found = 0;
        for (int64_t k = 0; k < n; k++) found |= given[i] == choices[k];
        if (!found)
            return asc_failn(call->status, ASC_E_DECLARED, "element % is % where the shapes of the model ask for %", 3,
                             (int64_t[]){i, given[i], choices[0]});
    }
    *(uint8_t *)call->out[0].data = 1;
    return ASC_OK;
}

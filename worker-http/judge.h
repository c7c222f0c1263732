/* SPDX-License-Identifier: ISC */
/*
 * What a run's end means: why it failed, whether it may be made again,
 * whether the client is believed.  Pure functions of the run's record.
 */
#ifndef OLP_HTTPD_JUDGE_H
#define OLP_HTTPD_JUDGE_H

#include "proto/err.h"

struct run;

/*
 * Of a run that failed and has a job, once its egress has no more to say and
 * its end was seen or is late.  May the job be started again although this
 * run had begun?  Only when one of the two that hold the run died, nothing
 * was said to the caller, and the other one knows that no provider was asked.
 */
int judge_again(const struct run *);
/*
 * The same run, when it may not: why it failed.  What the provider answered,
 * as egress saw it, comes before a refusal of egress, which may be of the
 * client's second try, and both come before the client's own account.
 */
enum olp_err judge_reason(const struct run *);

/*
 * The client's word for a whole answer is not enough where a broker saw what
 * came.  ERR_OK: it holds.  ERR_CLIENT_ODD: it does not, and whose fault that
 * is shows at the end of the run.  Any other: why there is no answer.
 */
enum olp_err judge_word(const struct run *);
/* Can a whole answer be handed on? ERR_CLIENT: it is empty; ERR_CLIENT_ODD: a
 * tool's call, where none was offered. */
enum olp_err judge_answer(const struct run *);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * What a run's end means.  Runs in worker-http; pure: these functions read a
 * record, and the first line of each that applies decides.  They must never
 * let a run be made again that a provider may have heard of, nor take a
 * client's word for an answer that no provider gave.
 */
#include "worker-http/judge.h"

#include <stddef.h>

#include "common/limits.h"
#include "common/provider/provider.h"
#include "proto/msg.h"
#include "worker-http/answer.h"
#include "worker-http/job.h"
#include "worker-http/run_record.h"

/*
 * With worker-spawn its clients die, but not before egress has closed their
 * sockets: what one of them makes of that is not its own failure.
 */
static int
is_cut(const struct run *r)
{
	const struct msg_out_closed *o = r->out;

	return (r->lost_spawn && !r->refused && o != NULL && !o->complete &&
	    (o->status == 0 || (o->status >= 200 && o->status <= 299)));
}

/*
 * Did it end because a process that held it died?  worker-spawn says so
 * (ERR_RUN_LOST) when it could not reach the run's egress.
 */
static int
is_lost(const struct run *r)
{
	if (r->forced)
		return (0);
	if (r->lost_egress || is_cut(r))
		return (1);
	return (r->at_eof && (r->lost_spawn || r->exit_err == ERR_RUN_LOST));
}

int
judge_again(const struct run *r)
{
	if (!is_lost(r))
		return (0);
	if (r->job->first_text != 0 || r->job->rendered == NULL ||
	    r->job->restarts >= LIM_JOB_RESTARTS)
		return (0);
	if (r->text > 0 || r->egress == 0 || r->opened)
		return (0);
	if (r->lost_egress)
		return (!r->lost_spawn && r->exited &&
		    (r->exit_err == ERR_OK || r->exit_err == ERR_RUN_LOST));
	return (r->exited && r->out != NULL && !r->out->opened);
}

enum olp_err
judge_reason(const struct run *r)
{
	const struct msg_out_closed *o = r->out;
	enum olp_err up = o != NULL ? provider_status(o->status) : ERR_OK;
	int vague = r->err == ERR_CLIENT || r->at_eof;

	if (is_lost(r))
		return (ERR_RUN_LOST);
	if (!r->exited)
		return (r->forced ? r->err : ERR_STUCK);
	if (r->exit_err == ERR_STUCK || (r->exit_err != ERR_OK && vague))
		return (r->exit_err);
	if (r->forced || r->err == ERR_CLIENT_ODD)
		return (r->err);
	if (up != ERR_OK)
		return (vague || answer_status(up) != answer_status(r->err)
			? up
			: r->err);
	if (r->refused)
		return (ERR_BROKER);
	if (o != NULL && o->err != ERR_OK && o->err < ERR_MAX)
		return ((enum olp_err)o->err);
	if (vague && o != NULL && o->opened && !o->complete)
		return (ERR_PROVIDER_CUT);
	return (r->err);
}

enum olp_err
judge_word(const struct run *r)
{
	const struct msg_out_closed *o = r->out;
	enum olp_err up;

	if (o == NULL ||
	    (o->opened && o->complete && o->status >= 200 && o->status <= 299))
		return (ERR_OK);
	if ((up = provider_status(o->status)) != ERR_OK)
		return (up);
	if (r->refused)
		return (ERR_BROKER);
	if (o->err == ERR_PROVIDER_CUT)
		return (ERR_PROVIDER_CUT);
	return (ERR_CLIENT_ODD);
}

enum olp_err
judge_answer(const struct run *r)
{
	if (r->stop == STOP_TOOL)
		return (ERR_CLIENT_ODD);
	if (r->text == 0 && r->stop == STOP_END)
		return (ERR_CLIENT);
	return (ERR_OK);
}

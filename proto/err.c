/* SPDX-License-Identifier: ISC */
/* Names and sentences of the ways to fail.  Pure data. */
#include "proto/err.h"

#define ERR_NAME(sym, name, text) [sym] = name,
static const char *const names[ERR_MAX] = { ERR_LIST(ERR_NAME) };
#define ERR_TEXT(sym, name, text) [sym] = text,
static const char *const texts[ERR_MAX] = { ERR_LIST(ERR_TEXT) };

const char *
err_name(enum olp_err e)
{
	return ((unsigned int)e < ERR_MAX ? names[e] : "internal_error");
}

const char *
err_text(enum olp_err e)
{
	return ((unsigned int)e < ERR_MAX ? texts[e] : "olpd failed");
}

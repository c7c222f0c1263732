/* SPDX-License-Identifier: ISC */
/* The endpoints, one family per file; the table is in server.c. */
#ifndef OLP_HTTPD_API_H
#define OLP_HTTPD_API_H

struct job;

void api_chat_start(struct job *);        /* POST /v1/chat/completions */
void api_models_list(struct job *);       /* GET /v1/models */
void api_models_one(struct job *);        /* GET /v1/models/{id} */
void api_models_parameters(struct job *); /* GET /v1/olp/parameters */
void api_health(struct job *);            /* GET /health */
void api_ready(struct job *);             /* GET /ready */

#endif

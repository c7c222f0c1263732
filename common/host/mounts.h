/* SPDX-License-Identifier: ISC */
/*
 * A file tree of our own, put together from bind mounts in a mount namespace
 * of our own.  Destinations are relative: after mounts_begin() we are in the
 * new tree.  0, or -1 and mounts_failed() says what did not work.
 */
#ifndef OLP_HOST_MOUNTS_H
#define OLP_HOST_MOUNTS_H

int mounts_begin(const char *dir); /* an empty tree, mounted at dir */
int mounts_mkdir(const char *dst);
int mounts_link(const char *to, const char *dst);
int mounts_dir(const char *src,
    const char *dst); /* with all below it; read-only, no devices, no set-uid */
int mounts_file(const char *src, const char *dst); /* likewise; dst is made */
int mounts_device(const char *src, const char *dst);
int mounts_bind(const char *src, const char *dst); /* as it is */
int mounts_fs(const char *type, const char *dst, unsigned long flags,
    const char *options);
int mounts_read_only(const char *dst);
int mounts_end(void); /* read-only; and the only tree there is from now on */
const char *mounts_failed(void);

#endif

#ifndef REEL_CCOMMIT_H
#define REEL_CCOMMIT_H

#ifdef __cplusplus
extern "C" {
#endif

// The commit that was checked out when this was compiled, in hexadecimal digits; empty if unknown: in a source tree
// without .git, or whose .git is not a folder of files. Changes since that commit are not reflected.
const char *reel_commit(void);

#ifdef __cplusplus
}
#endif

#endif

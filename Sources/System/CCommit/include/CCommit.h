#ifndef REEL_CCOMMIT_H
#define REEL_CCOMMIT_H

#ifdef __cplusplus
extern "C" {
#endif

// The commit that was checked out when this was compiled, in hexadecimal digits; empty where that is not known: a source
// tree without .git, or one whose .git is not a folder of files. What was changed since the commit does not show.
const char *reel_commit(void);

#ifdef __cplusplus
}
#endif

#endif

#ifndef REEL_C_ARGUMENTS_H
#define REEL_C_ARGUMENTS_H

// The arguments that this process was started with, the program's name first. Swift's `CommandLine` reads them from
// /proc, and has none where that is not mounted.
int reel_arguments_count(void);

// The bytes of one; NULL beyond the last.
const char *reel_argument(int index);

#endif

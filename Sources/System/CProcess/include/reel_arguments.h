#ifndef REEL_C_ARGUMENTS_H
#define REEL_C_ARGUMENTS_H

// The number of arguments that this process was started with, including the program's name, which comes first.
// Swift's `CommandLine` reads the arguments from /proc, and has none if that is not mounted.
int reel_arguments_count(void);

// The bytes of one argument; NULL beyond the last.
const char *reel_argument(int index);

#endif

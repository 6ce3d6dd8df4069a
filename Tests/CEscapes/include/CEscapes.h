#pragma once

#include <stddef.h>
#include <sys/types.h>

// What an intruder would try, by name. For tests only: nothing that is shipped links this.

// Tries `attempt`. Returns 1 if it succeeded, 0 if the kernel refused it with an error, and -1 if there is no such
// attempt. A filter in kill mode leaves no time to return.
int reel_escape(const char *attempt);

// The name of an attempt, NULL after the last.
const char *reel_escape_name(int index);

// System calls of a newer C library, which `reel_escape` tries as well; NULL after the last.
const char *reel_question_name(int index);

// Sends bytes over the worker's channel, with a descriptor unless it is negative. Returns 0, or -errno.
int reel_speak(const void *bytes, size_t count, int descriptor);

// Receives the next message on the worker's channel, or only peeks at it, with its descriptor (-1 if there is none, or
// no room for it). Returns the number of bytes, or -1.
ssize_t reel_hear(void *bytes, size_t capacity, int *descriptor, int peeking);

// Whether this was built with a sanitizer, which uses memory of its own and changes how malloc behaves when there is
// none left.
int reel_is_sanitized(void);

// The number of open descriptors.
int reel_open_descriptors(void);

// Allocates and touches memory until there is no more; returns the number of bytes.
long reel_eat_memory(void);

#pragma once

#include <stddef.h>
#include <sys/types.h>

// What a break-in would try, by name. For tests only: nothing that is shipped links this.

// Tries `attempt`. Returns 1 when it got through, 0 when the kernel refused it with an error, and -1 when there is no
// such attempt. A filter in kill mode leaves no time to return.
int reel_escape(const char *attempt);

// The name of an attempt, NULL after the last.
const char *reel_escape_name(int index);

// What a newer C library asks for, which `reel_escape` tries as well; NULL after the last.
const char *reel_question_name(int index);

// Sends bytes over the worker's channel, and a descriptor with them unless it is below 0. Returns 0, or -errno.
int reel_speak(const void *bytes, size_t count, int descriptor);

// Receives what comes next over the worker's channel, or only looks at it, and the descriptor with it (-1 when there is none,
// or no room for it). Returns how many bytes there are, or -1.
ssize_t reel_hear(void *bytes, size_t capacity, int *descriptor, int peeking);

// Whether this was built with a sanitizer, which takes memory of its own and changes what malloc does without any.
int reel_is_sanitized(void);

// How many descriptors are open.
int reel_open_descriptors(void);

// Allocates and touches memory until there is no more; returns how many bytes there were.
long reel_eat_memory(void);

#ifndef REEL_C_PROCESS_H
#define REEL_C_PROCESS_H

// What there is one of in a process.
#include "reel_arguments.h"
#include "reel_heap.h"
#include "reel_signals.h"

#endif

#ifndef REEL_C_PROCESS_H
#define REEL_C_PROCESS_H

// State that exists once per process.
#include "reel_arguments.h"
#include "reel_heap.h"
#include "reel_signals.h"

#endif

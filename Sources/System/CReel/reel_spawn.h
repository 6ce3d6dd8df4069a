#pragma once

#include <spawn.h>

/// A session of its own, no signal blocked and none ignored. 0, or an error number.
int reel_spawn_signals(posix_spawnattr_t *attributes);

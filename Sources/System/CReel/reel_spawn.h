#pragma once

#include <spawn.h>

/// Sets a new session, with no signal blocked and none ignored. Returns 0, or an error number.
int reel_spawn_signals(posix_spawnattr_t *attributes);

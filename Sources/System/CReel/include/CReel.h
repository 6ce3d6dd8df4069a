#pragma once

// This is linked into the confined worker as well: nothing here may run by itself (a constructor) or replace a function
// of the C library. What does is in CProcess.
#include "reel_channel.h"
#include "reel_child.h"
#include "reel_command.h"
#include "reel_confine.h"
#include "reel_files.h"

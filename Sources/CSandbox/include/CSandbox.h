#pragma once

#include "reel_channel.h"
#include "reel_child.h"
#include "reel_confine.h"

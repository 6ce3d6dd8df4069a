#ifndef REEL_CEXPAT_H
#define REEL_CEXPAT_H

#include <expat.h>

#endif

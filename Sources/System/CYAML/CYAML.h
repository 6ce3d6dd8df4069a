#ifndef REEL_CYAML_H
#define REEL_CYAML_H

#include <yaml.h>

#endif

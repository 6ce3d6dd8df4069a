#include "reel_arguments.h"

#include <stddef.h>

static int count;
static char **vector;

// glibc passes the arguments of `main` to every constructor as well; Swift's `main` does not expose them.
__attribute__((constructor)) static void keep_arguments(int argument_count, char **arguments) {
  count = argument_count;
  vector = arguments;
}

int reel_arguments_count(void) { return count; }

const char *reel_argument(int index) { return index >= 0 && index < count ? vector[index] : NULL; }

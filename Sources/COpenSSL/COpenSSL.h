#ifndef REEL_COPENSSL_H
#define REEL_COPENSSL_H

// For SHA256_Init and its like, see ReelCrypto.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

/// OPENSSL_clear_free is a macro.
static inline void reel_openssl_free(void *memory, size_t count) {
  OPENSSL_clear_free(memory, count);
}

#endif

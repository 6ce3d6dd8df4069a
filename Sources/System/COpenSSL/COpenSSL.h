#ifndef REEL_COPENSSL_H
#define REEL_COPENSSL_H

// For SHA256_Init and its like, see ReelCrypto.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/aes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/modes.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

/// A state of GCM over AES; `key` has to live as long.
static inline GCM128_CONTEXT *reel_gcm_new(AES_KEY *key) {
  return CRYPTO_gcm128_new(key, (block128_f)AES_encrypt);
}

/// OPENSSL_clear_free is a macro.
static inline void reel_openssl_free(void *memory, size_t count) {
  OPENSSL_clear_free(memory, count);
}

#endif

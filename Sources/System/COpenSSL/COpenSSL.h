#ifndef REEL_COPENSSL_H
#define REEL_COPENSSL_H

// For functions such as SHA256_Init, see ReelCrypto.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/aes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/modes.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

/// A GCM state over AES; `key` must outlive it.
static inline GCM128_CONTEXT *reel_gcm_new(AES_KEY *key) {
  return CRYPTO_gcm128_new(key, (block128_f)AES_encrypt);
}

/// A function, as OPENSSL_clear_free is a macro.
static inline void reel_openssl_free(void *memory, size_t count) {
  OPENSSL_clear_free(memory, count);
}

#endif

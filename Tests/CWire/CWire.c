#define _GNU_SOURCE
#include "CWire.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

int reel_wire_accept(int listening) {
  int accepted;
  do accepted = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
  while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
  return accepted;
}

void reel_wire_await_end(int socket) {
  struct pollfd ended = {.fd = socket, .events = POLLRDHUP};
  while (poll(&ended, 1, -1) < 0 && errno == EINTR) {}
}

void *reel_tls_server(const char *certificate, const char *key, int is_old) {
  SSL_CTX *server = SSL_CTX_new(TLS_server_method());
  if (!server) return NULL;
  int is_ready = SSL_CTX_use_certificate_chain_file(server, certificate) == 1 &&
                 SSL_CTX_use_PrivateKey_file(server, key, SSL_FILETYPE_PEM) == 1;
  // OpenSSL 3's default security level does not allow TLS 1.1.
  if (is_old) {
    is_ready = is_ready && SSL_CTX_set_cipher_list(server, "DEFAULT@SECLEVEL=0") == 1 &&
               SSL_CTX_set_min_proto_version(server, TLS1_VERSION) == 1 &&
               SSL_CTX_set_max_proto_version(server, TLS1_1_VERSION) == 1;
  }
  if (is_ready) return server;
  SSL_CTX_free(server);
  return NULL;
}

void reel_tls_server_free(void *server) { SSL_CTX_free(server); }

void *reel_tls_accept(void *server, int socket) {
  SSL *session = SSL_new(server);
  if (session && SSL_set_fd(session, socket) == 1 && SSL_accept(session) == 1) return session;
  SSL_free(session);
  return NULL;
}

size_t reel_tls_read(void *session, void *buffer, size_t size) {
  size_t count;
  return SSL_read_ex(session, buffer, size, &count) == 1 ? count : 0;
}

int reel_tls_write(void *session, const void *bytes, size_t count) {
  size_t written;
  return count == 0 || SSL_write_ex(session, bytes, count, &written) == 1;
}

void reel_tls_end(void *session) { SSL_shutdown(session); }

void reel_tls_free(void *session) { SSL_free(session); }

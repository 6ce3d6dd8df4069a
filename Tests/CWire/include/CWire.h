#ifndef REEL_CWIRE_H
#define REEL_CWIRE_H

#include <stddef.h>
#include <sys/types.h>

// What Swift is not given of accept4 and poll.

// The next connection, which no program started meanwhile inherits; negative when there will be none.
int reel_wire_accept(int listening);
// Waits until the other side has ended the connection, without reading from it.
void reel_wire_await_end(int socket);

// The server's side of TLS, for fakes of servers: OpenSSL over sockets that block. Pointers are SSL_CTX and SSL.

// A server that shows `certificate` and holds `key`, both in PEM form; speaks nothing newer than TLS 1.1 where `is_old`.
// NULL when that can't be done.
void *reel_tls_server(const char *certificate, const char *key, int is_old);
void reel_tls_server_free(void *server);

// Shakes hands on `socket`; NULL when that fails.
void *reel_tls_accept(void *server, int socket);

// 0 at the end, and when it breaks.
size_t reel_tls_read(void *session, void *buffer, size_t size);
// Whether all of it went out.
int reel_tls_write(void *session, const void *bytes, size_t count);

// Says that nothing more comes.
void reel_tls_end(void *session);
void reel_tls_free(void *session);

#endif

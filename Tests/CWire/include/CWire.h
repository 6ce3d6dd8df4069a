#ifndef REEL_CWIRE_H
#define REEL_CWIRE_H

#include <stddef.h>
#include <sys/types.h>

// The parts of accept4 and poll that Swift can't import.

// Returns the next connection, with close-on-exec set; negative if there will be none.
int reel_wire_accept(int listening);
// Waits until the other side has ended the connection, without reading from it.
void reel_wire_await_end(int socket);

// The server side of TLS, for fake servers: OpenSSL over blocking sockets. Pointers are SSL_CTX and SSL.

// Returns a server with `certificate` and `key`, both paths of PEM files; with `is_old`, it supports nothing newer than
// TLS 1.1. NULL on failure.
void *reel_tls_server(const char *certificate, const char *key, int is_old);
void reel_tls_server_free(void *server);

// Performs the handshake on `socket`; NULL if it fails.
void *reel_tls_accept(void *server, int socket);

// Returns the number of bytes read; 0 at the end, or on an error.
size_t reel_tls_read(void *session, void *buffer, size_t size);
// Returns whether all bytes were written.
int reel_tls_write(void *session, const void *bytes, size_t count);

// Tells the client that no more data follows (close_notify).
void reel_tls_end(void *session);
void reel_tls_free(void *session);

#endif

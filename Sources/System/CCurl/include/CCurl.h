#ifndef REEL_CCURL_H
#define REEL_CCURL_H

// libcurl, opened when it is needed: if it were linked, it and its 29 libraries would be loaded at every start of the
// program. The header provides only types and constants; the functions below call those looked up by name.

#include <curl/curl.h>
#include <stddef.h>

struct reel_curl;

// Opens the library by its file name, such as libcurl.so.4, and initializes it; it stays loaded. Returns NULL on
// failure, and then writes the reason, at most `size` bytes, to `why`.
struct reel_curl *reel_curl_open(const char *name, char *why, size_t size);

// Frees the table of functions, not the library.
void reel_curl_close(struct reel_curl *curl);

// The bundle and the directory of certificates that the library was built to trust; NULL if there is none. They live as
// long as the library.
void reel_curl_trusted(const struct reel_curl *curl, const char **bundle, const char **directory);

CURL *reel_curl_easy_init(const struct reel_curl *curl);
void reel_curl_easy_cleanup(const struct reel_curl *curl, CURL *easy);
CURLcode reel_curl_easy_pause(const struct reel_curl *curl, CURL *easy, int mask);
const char *reel_curl_easy_strerror(const struct reel_curl *curl, CURLcode code);

// Set an option of the type stated in its documentation.
CURLcode reel_curl_set_long(const struct reel_curl *curl, CURL *easy, CURLoption option, long value);
CURLcode reel_curl_set_offset(const struct reel_curl *curl, CURL *easy, CURLoption option, curl_off_t value);
CURLcode reel_curl_set_text(const struct reel_curl *curl, CURL *easy, CURLoption option, const char *value);
CURLcode reel_curl_set_pointer(const struct reel_curl *curl, CURL *easy, CURLoption option, void *value);

// Restricts the transfer to web requests: HTTP/1.1 over http and https, with TLS 1.2 or newer to the server and to a
// proxy. Header lines meant for the server are not sent to the proxy.
CURLcode reel_curl_set_web_only(const struct reel_curl *curl, CURL *easy);

// Returned by a read callback to pause, or to abort the transfer.
extern const size_t reel_curl_read_pause;
extern const size_t reel_curl_read_abort;

struct reel_curl_callbacks {
  size_t (*read)(char *buffer, size_t size, size_t count, void *context);
  size_t (*write)(char *bytes, size_t size, size_t count, void *context);
  size_t (*header)(char *bytes, size_t size, size_t count, void *context);
  // Called each time the request is about to be sent; any result but 0 ends the transfer.
  int (*begin)(void *context, char *remote, char *local, int remote_port, int local_port);
};

// Sets the callbacks, each with `context`, and makes sockets that programs started in the meantime do not inherit.
CURLcode reel_curl_set_callbacks(
    const struct reel_curl *curl, CURL *easy, const struct reel_curl_callbacks *callbacks, void *context);

CURLcode reel_curl_get_long(const struct reel_curl *curl, CURL *easy, CURLINFO info, long *value);
CURLcode reel_curl_get_offset(const struct reel_curl *curl, CURL *easy, CURLINFO info, curl_off_t *value);

// Creates an empty file in memory, for certificates: libcurl reads them from a path. A descriptor, or a negative errno.
int reel_curl_memory_file(void);

// The socket of the connection that the transfer used last; -1 if there is none.
int reel_curl_socket(const struct reel_curl *curl, CURL *easy);

// Whether bytes, or the end of the stream, are waiting to be read from `socket`.
int reel_curl_has_input(int socket);

// Returns NULL if there is no memory; `list` is then unchanged.
struct curl_slist *reel_curl_slist_append(
    const struct reel_curl *curl, struct curl_slist *list, const char *line);
void reel_curl_slist_free(const struct reel_curl *curl, struct curl_slist *list);

CURLM *reel_curl_multi_init(const struct reel_curl *curl, long kept_connections);
CURLMcode reel_curl_multi_cleanup(const struct reel_curl *curl, CURLM *multi);
CURLMcode reel_curl_multi_add(const struct reel_curl *curl, CURLM *multi, CURL *easy);
CURLMcode reel_curl_multi_remove(const struct reel_curl *curl, CURLM *multi, CURL *easy);
CURLMcode reel_curl_multi_perform(const struct reel_curl *curl, CURLM *multi);
CURLMcode reel_curl_multi_poll(const struct reel_curl *curl, CURLM *multi, int milliseconds);
CURLMcode reel_curl_multi_wakeup(const struct reel_curl *curl, CURLM *multi);

// The next transfer that has ended, and its result; NULL if there is none.
CURL *reel_curl_multi_ended(const struct reel_curl *curl, CURLM *multi, CURLcode *code);

#endif

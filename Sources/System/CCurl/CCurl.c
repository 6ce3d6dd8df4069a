#define _GNU_SOURCE
#include "CCurl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

// Older versions treat a retried request as a new one, or lack what the functions below rely on.
static const unsigned oldest = 0x075000;  // 7.80.0

#define FUNCTIONS(each)  \
  each(global_init)      \
  each(version_info)     \
  each(easy_init)        \
  each(easy_cleanup)     \
  each(easy_pause)       \
  each(easy_strerror)    \
  each(easy_setopt)      \
  each(easy_getinfo)     \
  each(slist_append)     \
  each(slist_free_all)   \
  each(multi_init)       \
  each(multi_cleanup)    \
  each(multi_setopt)     \
  each(multi_add_handle) \
  each(multi_remove_handle) \
  each(multi_perform)    \
  each(multi_poll)       \
  each(multi_wakeup)     \
  each(multi_info_read)

// The header wraps these in macros of the same names that check their arguments.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct reel_curl {
#define MEMBER(name) __typeof__(&curl_##name) name;
  FUNCTIONS(MEMBER)
};

static int find_functions(void *library, struct reel_curl *curl, char *why, size_t size) {
#define FIND(name)                                                  \
  if (!(*(void **)&curl->name = dlsym(library, "curl_" #name))) {   \
    snprintf(why, size, "it has no function curl_" #name);          \
    return 0;                                                       \
  }
  FUNCTIONS(FIND)
  return 1;
}

static int get_ready(const struct reel_curl *curl, char *why, size_t size) {
  // Before 7.84, no two threads may do this at once.
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
  pthread_mutex_unlock(&lock);
  if (code != CURLE_OK) {
    snprintf(why, size, "it can't be made ready: %s", curl->easy_strerror(code));
    return 0;
  }
  const curl_version_info_data *version = curl->version_info(CURLVERSION_NOW);
  if (version->version_num < oldest) {
    snprintf(why, size, "it is version %s, but Reel needs 7.80 or newer", version->version);
    return 0;
  }
  if (!(version->features & CURL_VERSION_SSL)) {
    snprintf(why, size, "it was built without TLS");
    return 0;
  }
  return 1;
}

struct reel_curl *reel_curl_open(const char *name, char *why, size_t size) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(why, size, "%s", reason ? reason : "it can't be opened");
    return NULL;
  }
  struct reel_curl *curl = malloc(sizeof *curl);
  if (!curl) {
    snprintf(why, size, "out of memory");
    return NULL;
  }
  if (find_functions(library, curl, why, size) && get_ready(curl, why, size)) return curl;
  free(curl);
  return NULL;
}

void reel_curl_close(struct reel_curl *curl) { free(curl); }

void reel_curl_trusted(const struct reel_curl *curl, const char **bundle, const char **directory) {
  const curl_version_info_data *version = curl->version_info(CURLVERSION_NOW);
  int tells = version->age >= CURLVERSION_EIGHTH;
  *bundle = tells ? version->cainfo : NULL;
  *directory = tells ? version->capath : NULL;
}

CURL *reel_curl_easy_init(const struct reel_curl *curl) { return curl->easy_init(); }

void reel_curl_easy_cleanup(const struct reel_curl *curl, CURL *easy) { curl->easy_cleanup(easy); }

CURLcode reel_curl_easy_pause(const struct reel_curl *curl, CURL *easy, int mask) {
  return curl->easy_pause(easy, mask);
}

const char *reel_curl_easy_strerror(const struct reel_curl *curl, CURLcode code) {
  return curl->easy_strerror(code);
}

CURLcode reel_curl_set_long(const struct reel_curl *curl, CURL *easy, CURLoption option, long value) {
  return curl->easy_setopt(easy, option, value);
}

CURLcode reel_curl_set_offset(const struct reel_curl *curl, CURL *easy, CURLoption option, curl_off_t value) {
  return curl->easy_setopt(easy, option, value);
}

CURLcode reel_curl_set_text(const struct reel_curl *curl, CURL *easy, CURLoption option, const char *value) {
  return curl->easy_setopt(easy, option, value);
}

CURLcode reel_curl_set_pointer(const struct reel_curl *curl, CURL *easy, CURLoption option, void *value) {
  return curl->easy_setopt(easy, option, value);
}

// By number: a header older than 7.85 lacks the first option, and newer ones warn about the second.
static const CURLoption protocols_by_name = (CURLoption)(CURLOPTTYPE_STRINGPOINT + 318);
static const CURLoption protocols_by_bit = (CURLoption)(CURLOPTTYPE_LONG + 181);

static CURLcode restrict_protocols(const struct reel_curl *curl, CURL *easy) {
  CURLcode code = curl->easy_setopt(easy, protocols_by_name, "http,https");
  // The library that was found may be older than the header.
  if (code == CURLE_UNKNOWN_OPTION)
    code = curl->easy_setopt(easy, protocols_by_bit, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  return code;
}

CURLcode reel_curl_set_web_only(const struct reel_curl *curl, CURL *easy) {
  CURLcode code = restrict_protocols(curl, easy);
#define SET(option, value) \
  if (code == CURLE_OK) code = curl->easy_setopt(easy, option, (long)(value))
  SET(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  SET(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  SET(CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  SET(CURLOPT_HEADEROPT, CURLHEADER_SEPARATE);
#undef SET
  return code;
}

const size_t reel_curl_read_pause = CURL_READFUNC_PAUSE;
const size_t reel_curl_read_abort = CURL_READFUNC_ABORT;

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)context, (void)purpose;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURLcode reel_curl_set_callbacks(
    const struct reel_curl *curl, CURL *easy, const struct reel_curl_callbacks *callbacks, void *context) {
  CURLcode code = CURLE_OK;
#define SET(option, value) \
  if (code == CURLE_OK) code = curl->easy_setopt(easy, option, value)
  SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  SET(CURLOPT_READFUNCTION, callbacks->read);
  SET(CURLOPT_READDATA, context);
  SET(CURLOPT_WRITEFUNCTION, callbacks->write);
  SET(CURLOPT_WRITEDATA, context);
  SET(CURLOPT_HEADERFUNCTION, callbacks->header);
  SET(CURLOPT_HEADERDATA, context);
  SET(CURLOPT_PREREQFUNCTION, callbacks->begin);
  SET(CURLOPT_PREREQDATA, context);
#undef SET
  return code;
}

CURLcode reel_curl_get_long(const struct reel_curl *curl, CURL *easy, CURLINFO info, long *value) {
  return curl->easy_getinfo(easy, info, value);
}

CURLcode reel_curl_get_offset(const struct reel_curl *curl, CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl->easy_getinfo(easy, info, value);
}

int reel_curl_socket(const struct reel_curl *curl, CURL *easy) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  return curl->easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK ? socket : -1;
}

int reel_curl_has_input(int socket) {
  char byte;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

int reel_curl_memory_file(void) {
  // MFD_NOEXEC_SEAL, of Linux 6.3, which some systems require.
  int file = memfd_create("reel-certificates", MFD_CLOEXEC | 8u);
  if (file < 0 && errno == EINVAL) file = memfd_create("reel-certificates", MFD_CLOEXEC);
  return file < 0 ? -errno : file;
}

struct curl_slist *reel_curl_slist_append(
    const struct reel_curl *curl, struct curl_slist *list, const char *line) {
  return curl->slist_append(list, line);
}

void reel_curl_slist_free(const struct reel_curl *curl, struct curl_slist *list) {
  curl->slist_free_all(list);
}

CURLM *reel_curl_multi_init(const struct reel_curl *curl, long kept_connections) {
  CURLM *multi = curl->multi_init();
  if (multi) {
    curl->multi_setopt(multi, CURLMOPT_MAXCONNECTS, kept_connections);
    curl->multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
  }
  return multi;
}

CURLMcode reel_curl_multi_cleanup(const struct reel_curl *curl, CURLM *multi) {
  return curl->multi_cleanup(multi);
}

CURLMcode reel_curl_multi_add(const struct reel_curl *curl, CURLM *multi, CURL *easy) {
  return curl->multi_add_handle(multi, easy);
}

CURLMcode reel_curl_multi_remove(const struct reel_curl *curl, CURLM *multi, CURL *easy) {
  return curl->multi_remove_handle(multi, easy);
}

CURLMcode reel_curl_multi_perform(const struct reel_curl *curl, CURLM *multi) {
  int running;
  return curl->multi_perform(multi, &running);
}

CURLMcode reel_curl_multi_poll(const struct reel_curl *curl, CURLM *multi, int milliseconds) {
  return curl->multi_poll(multi, NULL, 0, milliseconds, NULL);
}

CURLMcode reel_curl_multi_wakeup(const struct reel_curl *curl, CURLM *multi) {
  return curl->multi_wakeup(multi);
}

CURL *reel_curl_multi_ended(const struct reel_curl *curl, CURLM *multi, CURLcode *code) {
  int left;
  CURLMsg *message;
  while ((message = curl->multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *code = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

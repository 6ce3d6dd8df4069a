#define _GNU_SOURCE
#include "CPostgres.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct notification {
  char *channel;
  int process;
  char *said;
  struct notification *next;
};

typedef void (*notice_processor)(void *context, const char *message);

// result, name, arguments
#define FUNCTIONS(each)                                                                                        \
  each(struct reel_postgres_option *, PQconninfoParse, (const char *, char **))                                \
  each(void, PQconninfoFree, (struct reel_postgres_option *))                                                  \
  each(struct pg_conn *, PQconnectStartParams, (const char *const *, const char *const *, int))                \
  each(int, PQconnectPoll, (struct pg_conn *))                                                                 \
  each(struct reel_postgres_option *, PQconninfo, (struct pg_conn *))                                          \
  each(int, PQsetErrorVerbosity, (struct pg_conn *, int))                                                      \
  each(void, PQfinish, (struct pg_conn *))                                                                     \
  each(int, PQstatus, (const struct pg_conn *))                                                                \
  each(int, PQtransactionStatus, (const struct pg_conn *))                                                     \
  each(int, PQsocket, (const struct pg_conn *))                                                                \
  each(int, PQserverVersion, (const struct pg_conn *))                                                         \
  each(int, PQbackendPID, (const struct pg_conn *))                                                            \
  each(char *, PQerrorMessage, (const struct pg_conn *))                                                       \
  each(int, PQsetnonblocking, (struct pg_conn *, int))                                                         \
  each(notice_processor, PQsetNoticeProcessor, (struct pg_conn *, notice_processor, void *))                   \
  each(int, PQsendQuery, (struct pg_conn *, const char *))                                                     \
  each(int, PQsendQueryParams,                                                                                 \
       (struct pg_conn *, const char *, int, const unsigned *, const char *const *, const int *, const int *,  \
        int))                                                                                                  \
  each(int, PQsendPrepare, (struct pg_conn *, const char *, const char *, int, const unsigned *))              \
  each(int, PQsendQueryPrepared,                                                                               \
       (struct pg_conn *, const char *, int, const char *const *, const int *, const int *, int))              \
  each(int, PQflush, (struct pg_conn *))                                                                       \
  each(int, PQconsumeInput, (struct pg_conn *))                                                                \
  each(int, PQisBusy, (struct pg_conn *))                                                                      \
  each(struct pg_result *, PQgetResult, (struct pg_conn *))                                                    \
  each(struct notification *, PQnotifies, (struct pg_conn *))                                                  \
  each(void, PQfreemem, (void *))                                                                              \
  each(void, PQclear, (struct pg_result *))                                                                    \
  each(int, PQresultStatus, (const struct pg_result *))                                                        \
  each(char *, PQresultErrorField, (const struct pg_result *, int))                                            \
  each(char *, PQcmdTuples, (struct pg_result *))                                                              \
  each(int, PQntuples, (const struct pg_result *))                                                             \
  each(int, PQnfields, (const struct pg_result *))                                                             \
  each(char *, PQfname, (const struct pg_result *, int))                                                       \
  each(unsigned, PQftype, (const struct pg_result *, int))                                                     \
  each(int, PQgetisnull, (const struct pg_result *, int, int))                                                 \
  each(int, PQgetlength, (const struct pg_result *, int, int))                                                 \
  each(char *, PQgetvalue, (const struct pg_result *, int, int))

struct reel_postgres {
#define MEMBER(result, name, arguments) result (*name) arguments;
  FUNCTIONS(MEMBER)
};

struct reel_postgres *reel_postgres_open(const char *name, char *why, size_t size) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(why, size, "%s", reason ? reason : "it can't be opened");
    return NULL;
  }
  struct reel_postgres *table = malloc(sizeof *table);
  if (!table) {
    snprintf(why, size, "out of memory");
    return NULL;
  }
#define FIND(result, name, arguments)                        \
  if (!(*(void **)&table->name = dlsym(library, #name))) {   \
    snprintf(why, size, "it has no function " #name);        \
    free(table);                                             \
    return NULL;                                             \
  }
  FUNCTIONS(FIND)
  return table;
}

struct reel_postgres_option *reel_postgres_parse(const struct reel_postgres *library, const char *address) {
  char *error = NULL;
  struct reel_postgres_option *options = library->PQconninfoParse(address, &error);
  // The error repeats what it could not parse, which may be a password.
  if (error) library->PQfreemem(error);
  return options;
}

void reel_postgres_free_options(const struct reel_postgres *library, struct reel_postgres_option *options) {
  library->PQconninfoFree(options);
}

static void ignore(void *context, const char *message) { (void)context, (void)message; }

struct pg_conn *reel_postgres_connect(
    const struct reel_postgres *library, const char *const *keywords, const char *const *values) {
  struct pg_conn *connection = library->PQconnectStartParams(keywords, values, 0);
  if (!connection) return NULL;
  library->PQsetNoticeProcessor(connection, ignore, NULL);
  // Only the message says why a server refuses a connection, in the server's language. A verbose one contains the code.
  library->PQsetErrorVerbosity(connection, REEL_POSTGRES_VERBOSE);
  return connection;
}

int reel_postgres_connect_poll(const struct reel_postgres *library, struct pg_conn *connection) {
  int status = library->PQconnectPoll(connection);
  // Not earlier: connecting does not block in either mode, and it starts again with each address of a host.
  if (status == REEL_POSTGRES_OK) {
    library->PQsetErrorVerbosity(connection, REEL_POSTGRES_DEFAULT);
    if (library->PQsetnonblocking(connection, 1) != 0) return REEL_POSTGRES_FAILED;
  }
  return status;
}

struct reel_postgres_option *reel_postgres_options(
    const struct reel_postgres *library, struct pg_conn *connection) {
  return library->PQconninfo(connection);
}

void reel_postgres_finish(const struct reel_postgres *library, struct pg_conn *connection) {
  library->PQfinish(connection);
}

int reel_postgres_status(const struct reel_postgres *library, const struct pg_conn *connection) {
  return library->PQstatus(connection);
}

int reel_postgres_transaction_status(const struct reel_postgres *library, const struct pg_conn *connection) {
  return library->PQtransactionStatus(connection);
}

int reel_postgres_socket(const struct reel_postgres *library, const struct pg_conn *connection) {
  return library->PQsocket(connection);
}

int reel_postgres_server_version(const struct reel_postgres *library, const struct pg_conn *connection) {
  return library->PQserverVersion(connection);
}

int reel_postgres_server_process(const struct reel_postgres *library, const struct pg_conn *connection) {
  return library->PQbackendPID(connection);
}

const char *reel_postgres_error(const struct reel_postgres *library, const struct pg_conn *connection) {
  return library->PQerrorMessage(connection);
}

int reel_postgres_send(const struct reel_postgres *library, struct pg_conn *connection, const char *statements) {
  return library->PQsendQuery(connection, statements);
}

// The formats of `count` values, all binary; NULL if there is no memory.
static int *formats_of(int count) {
  int *formats = malloc(((size_t)count + 1) * sizeof *formats);
  for (int i = 0; formats && i < count; i++) formats[i] = 1;
  return formats;
}

int reel_postgres_send_values(
    const struct reel_postgres *library, struct pg_conn *connection, const char *statement, int count,
    const unsigned *types, const char *const *values, const int *lengths) {
  int *formats = formats_of(count);
  if (!formats) return 0;
  int sent = library->PQsendQueryParams(connection, statement, count, types, values, lengths, formats, 1);
  free(formats);
  return sent;
}

int reel_postgres_send_prepare(
    const struct reel_postgres *library, struct pg_conn *connection, const char *name, const char *statement, int count,
    const unsigned *types) {
  return library->PQsendPrepare(connection, name, statement, count, types);
}

int reel_postgres_send_prepared(
    const struct reel_postgres *library, struct pg_conn *connection, const char *name, int count,
    const char *const *values, const int *lengths) {
  int *formats = formats_of(count);
  if (!formats) return 0;
  int sent = library->PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1);
  free(formats);
  return sent;
}

int reel_postgres_flush(const struct reel_postgres *library, struct pg_conn *connection) {
  return library->PQflush(connection);
}

int reel_postgres_consume(const struct reel_postgres *library, struct pg_conn *connection) {
  return library->PQconsumeInput(connection);
}

int reel_postgres_is_busy(const struct reel_postgres *library, struct pg_conn *connection) {
  return library->PQisBusy(connection);
}

struct pg_result *reel_postgres_result(const struct reel_postgres *library, struct pg_conn *connection) {
  return library->PQgetResult(connection);
}

void *reel_postgres_notification(
    const struct reel_postgres *library, struct pg_conn *connection, const char **channel, const char **said) {
  struct notification *notification = library->PQnotifies(connection);
  if (notification) *channel = notification->channel, *said = notification->said;
  return notification;
}

void reel_postgres_free(const struct reel_postgres *library, void *memory) { library->PQfreemem(memory); }

void reel_postgres_clear(const struct reel_postgres *library, struct pg_result *result) { library->PQclear(result); }

int reel_postgres_result_status(const struct reel_postgres *library, const struct pg_result *result) {
  return library->PQresultStatus(result);
}

const char *reel_postgres_result_error(const struct reel_postgres *library, const struct pg_result *result, int field) {
  return library->PQresultErrorField(result, field);
}

const char *reel_postgres_changed(const struct reel_postgres *library, struct pg_result *result) {
  return library->PQcmdTuples(result);
}

int reel_postgres_rows(const struct reel_postgres *library, const struct pg_result *result) {
  return library->PQntuples(result);
}

int reel_postgres_columns(const struct reel_postgres *library, const struct pg_result *result) {
  return library->PQnfields(result);
}

const char *reel_postgres_column_name(const struct reel_postgres *library, const struct pg_result *result, int column) {
  return library->PQfname(result, column);
}

unsigned reel_postgres_column_type(const struct reel_postgres *library, const struct pg_result *result, int column) {
  return library->PQftype(result, column);
}

int reel_postgres_is_null(const struct reel_postgres *library, const struct pg_result *result, int row, int column) {
  return library->PQgetisnull(result, row, column);
}

int reel_postgres_length(const struct reel_postgres *library, const struct pg_result *result, int row, int column) {
  return library->PQgetlength(result, row, column);
}

const char *reel_postgres_value(
    const struct reel_postgres *library, const struct pg_result *result, int row, int column) {
  return library->PQgetvalue(result, row, column);
}

int reel_postgres_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void reel_postgres_ring(int event) { eventfd_write(event, 1); }

// Where libpq's header is available, the declarations are checked against it.
#if defined(__has_include)
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#define HAS_HEADER
#elif __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#define HAS_HEADER
#endif
#endif

#ifdef HAS_HEADER
#include <stdint.h>

_Static_assert(sizeof(struct reel_postgres_option) == sizeof(PQconninfoOption), "PQconninfoOption");
_Static_assert(
    offsetof(struct reel_postgres_option, keyword) == offsetof(PQconninfoOption, keyword) &&
        offsetof(struct reel_postgres_option, value) == offsetof(PQconninfoOption, val) &&
        offsetof(struct reel_postgres_option, size) == offsetof(PQconninfoOption, dispsize),
    "PQconninfoOption");
_Static_assert(
    offsetof(struct notification, channel) == offsetof(PGnotify, relname) &&
        offsetof(struct notification, said) == offsetof(PGnotify, extra),
    "PGnotify");
_Static_assert(
    REEL_POSTGRES_CONNECTED == CONNECTION_OK && REEL_POSTGRES_BAD == CONNECTION_BAD, "ConnStatusType");
_Static_assert(
    REEL_POSTGRES_FAILED == PGRES_POLLING_FAILED && REEL_POSTGRES_READING == PGRES_POLLING_READING &&
        REEL_POSTGRES_WRITING == PGRES_POLLING_WRITING && REEL_POSTGRES_OK == PGRES_POLLING_OK,
    "PostgresPollingStatusType");
_Static_assert(
    REEL_POSTGRES_EMPTY == PGRES_EMPTY_QUERY && REEL_POSTGRES_COMMAND == PGRES_COMMAND_OK &&
        REEL_POSTGRES_ROWS == PGRES_TUPLES_OK,
    "ExecStatusType");
_Static_assert(REEL_POSTGRES_IDLE == PQTRANS_IDLE, "PGTransactionStatusType");
_Static_assert(
    REEL_POSTGRES_DEFAULT == PQERRORS_DEFAULT && REEL_POSTGRES_VERBOSE == PQERRORS_VERBOSE, "PGVerbosity");
_Static_assert(
    REEL_POSTGRES_STATE == PG_DIAG_SQLSTATE && REEL_POSTGRES_MESSAGE == PG_DIAG_MESSAGE_PRIMARY &&
        REEL_POSTGRES_CONSTRAINT == PG_DIAG_CONSTRAINT_NAME,
    "PG_DIAG");

// Only functions of identical types: others have an enumeration for our int, or the header's own structure for ours.
#define SAME(theirs, ours) _Static_assert(__builtin_types_compatible_p(__typeof__(theirs), __typeof__(ours)), #theirs)
#define OURS (*(struct reel_postgres *)NULL)
SAME(PQconnectStartParams, *OURS.PQconnectStartParams);
SAME(PQfinish, *OURS.PQfinish);
SAME(PQsocket, *OURS.PQsocket);
SAME(PQserverVersion, *OURS.PQserverVersion);
SAME(PQerrorMessage, *OURS.PQerrorMessage);
SAME(PQsetnonblocking, *OURS.PQsetnonblocking);
SAME(PQsetNoticeProcessor, *OURS.PQsetNoticeProcessor);
SAME(PQsendQuery, *OURS.PQsendQuery);
SAME(PQsendQueryParams, *OURS.PQsendQueryParams);
SAME(PQsendPrepare, *OURS.PQsendPrepare);
SAME(PQsendQueryPrepared, *OURS.PQsendQueryPrepared);
SAME(PQflush, *OURS.PQflush);
SAME(PQconsumeInput, *OURS.PQconsumeInput);
SAME(PQisBusy, *OURS.PQisBusy);
SAME(PQgetResult, *OURS.PQgetResult);
SAME(PQfreemem, *OURS.PQfreemem);
SAME(PQclear, *OURS.PQclear);
SAME(PQresultErrorField, *OURS.PQresultErrorField);
SAME(PQcmdTuples, *OURS.PQcmdTuples);
SAME(PQntuples, *OURS.PQntuples);
SAME(PQnfields, *OURS.PQnfields);
SAME(PQfname, *OURS.PQfname);
SAME(PQftype, *OURS.PQftype);
SAME(PQgetisnull, *OURS.PQgetisnull);
SAME(PQgetlength, *OURS.PQgetlength);
SAME(PQgetvalue, *OURS.PQgetvalue);
#endif

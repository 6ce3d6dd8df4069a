#ifndef REEL_CPOSTGRES_H
#define REEL_CPOSTGRES_H

// libpq, opened when it is needed: if it were linked in, it, Kerberos and LDAP would be loaded at every start.
//
// The declarations are those of libpq's own interface, unchanged since PostgreSQL 8 (libpq.so.5), so that its header is
// not needed to build. Where there is one, CPostgres.c checks them against it.

#include <stddef.h>

struct reel_postgres;
struct pg_conn;
struct pg_result;

struct reel_postgres_option {
  char *keyword, *environment, *compiled, *value, *label, *shown;
  int size;
};

// ConnStatusType
enum { REEL_POSTGRES_CONNECTED = 0, REEL_POSTGRES_BAD = 1 };

// PostgresPollingStatusType
enum { REEL_POSTGRES_FAILED = 0, REEL_POSTGRES_READING = 1, REEL_POSTGRES_WRITING = 2, REEL_POSTGRES_OK = 3 };

// ExecStatusType
enum { REEL_POSTGRES_EMPTY = 0, REEL_POSTGRES_COMMAND = 1, REEL_POSTGRES_ROWS = 2 };

// PGTransactionStatusType
enum { REEL_POSTGRES_IDLE = 0 };

// PGVerbosity
enum { REEL_POSTGRES_DEFAULT = 1, REEL_POSTGRES_VERBOSE = 2 };

// Fields of an error: its SQLSTATE, its message, and the constraint that it names.
enum { REEL_POSTGRES_STATE = 'C', REEL_POSTGRES_MESSAGE = 'M', REEL_POSTGRES_CONSTRAINT = 'n' };

// Opens the library by its file name, such as libpq.so.5; it stays loaded. If that fails, returns NULL, and the reason
// in `why`, in at most `size` bytes.
struct reel_postgres *reel_postgres_open(const char *name, char *why, size_t size);

// Parses an address into options, the last of which has no keyword; NULL if it is not an address.
struct reel_postgres_option *reel_postgres_parse(const struct reel_postgres *library, const char *address);
void reel_postgres_free_options(const struct reel_postgres *library, struct reel_postgres_option *options);

// Begins to connect; NULL if there is no memory. Notices from servers are not printed.
struct pg_conn *reel_postgres_connect(
    const struct reel_postgres *library, const char *const *keywords, const char *const *values);
int reel_postgres_connect_poll(const struct reel_postgres *library, struct pg_conn *connection);
// The options of the connection: those that were given, and those from the environment and the service file.
struct reel_postgres_option *reel_postgres_options(
    const struct reel_postgres *library, struct pg_conn *connection);
void reel_postgres_finish(const struct reel_postgres *library, struct pg_conn *connection);

int reel_postgres_status(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_transaction_status(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_socket(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_server_version(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_server_process(const struct reel_postgres *library, const struct pg_conn *connection);
const char *reel_postgres_error(const struct reel_postgres *library, const struct pg_conn *connection);

// Sends statements without values in one message, or one statement with values. Returns 1 on success.
int reel_postgres_send(const struct reel_postgres *library, struct pg_conn *connection, const char *statements);
int reel_postgres_send_values(
    const struct reel_postgres *library, struct pg_conn *connection, const char *statement, int count,
    const unsigned *types, const char *const *values, const int *lengths);
// Prepares a named statement in the session, or sends the values for a prepared one. Returns 1 on success.
int reel_postgres_send_prepare(
    const struct reel_postgres *library, struct pg_conn *connection, const char *name, const char *statement, int count,
    const unsigned *types);
int reel_postgres_send_prepared(
    const struct reel_postgres *library, struct pg_conn *connection, const char *name, int count,
    const char *const *values, const int *lengths);
// Returns 0 if all was sent, 1 if there is more to send, -1 if that failed.
int reel_postgres_flush(const struct reel_postgres *library, struct pg_conn *connection);
int reel_postgres_consume(const struct reel_postgres *library, struct pg_conn *connection);
int reel_postgres_is_busy(const struct reel_postgres *library, struct pg_conn *connection);
struct pg_result *reel_postgres_result(const struct reel_postgres *library, struct pg_conn *connection);

// Returns the next notification, with its channel and payload; free it with
// `reel_postgres_free`. NULL if there is none.
void *reel_postgres_notification(
    const struct reel_postgres *library, struct pg_conn *connection, const char **channel, const char **said);
void reel_postgres_free(const struct reel_postgres *library, void *memory);

void reel_postgres_clear(const struct reel_postgres *library, struct pg_result *result);
int reel_postgres_result_status(const struct reel_postgres *library, const struct pg_result *result);
const char *reel_postgres_result_error(const struct reel_postgres *library, const struct pg_result *result, int field);
// The number of rows that a command changed, as text.
const char *reel_postgres_changed(const struct reel_postgres *library, struct pg_result *result);
int reel_postgres_rows(const struct reel_postgres *library, const struct pg_result *result);
int reel_postgres_columns(const struct reel_postgres *library, const struct pg_result *result);
const char *reel_postgres_column_name(const struct reel_postgres *library, const struct pg_result *result, int column);
unsigned reel_postgres_column_type(const struct reel_postgres *library, const struct pg_result *result, int column);
int reel_postgres_is_null(const struct reel_postgres *library, const struct pg_result *result, int row, int column);
int reel_postgres_length(const struct reel_postgres *library, const struct pg_result *result, int row, int column);
const char *reel_postgres_value(
    const struct reel_postgres *library, const struct pg_result *result, int row, int column);

/// Creates a descriptor that becomes readable when it is rung, and stays so; -1 if the system has none left.
int reel_postgres_event(void);
void reel_postgres_ring(int event);
#endif

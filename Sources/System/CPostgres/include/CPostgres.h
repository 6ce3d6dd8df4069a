#ifndef REEL_CPOSTGRES_H
#define REEL_CPOSTGRES_H

// libpq, opened when it is needed: linked in, it, Kerberos and LDAP would be loaded whenever the program starts.
//
// What is declared here is libpq's own interface, the same since PostgreSQL 8 (libpq.so.5), so that nobody needs its
// header to build; where there is one, CPostgres.c is held against it.

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

// Fields of an error: its code by SQLSTATE, its sentence, what it names.
enum { REEL_POSTGRES_STATE = 'C', REEL_POSTGRES_MESSAGE = 'M', REEL_POSTGRES_CONSTRAINT = 'n' };

// Opens the library by its file's name, such as libpq.so.5; it stays loaded. NULL when that can't be done: `why` then
// says so in at most `size` bytes.
struct reel_postgres *reel_postgres_open(const char *name, char *why, size_t size);

// The parts of an address, ended by one without a keyword; NULL when it is not one.
struct reel_postgres_option *reel_postgres_parse(const struct reel_postgres *library, const char *address);
void reel_postgres_free_options(const struct reel_postgres *library, struct reel_postgres_option *options);

// Begins to connect; NULL when there is no memory. What servers say beside their answers is not printed.
struct pg_conn *reel_postgres_connect(
    const struct reel_postgres *library, const char *const *keywords, const char *const *values);
int reel_postgres_connect_poll(const struct reel_postgres *library, struct pg_conn *connection);
// With what it connects: what it was told, and what its environment and its service file say beside that.
struct reel_postgres_option *reel_postgres_options(
    const struct reel_postgres *library, struct pg_conn *connection);
void reel_postgres_finish(const struct reel_postgres *library, struct pg_conn *connection);

int reel_postgres_status(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_transaction_status(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_socket(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_server_version(const struct reel_postgres *library, const struct pg_conn *connection);
int reel_postgres_server_process(const struct reel_postgres *library, const struct pg_conn *connection);
const char *reel_postgres_error(const struct reel_postgres *library, const struct pg_conn *connection);

// Sends statements without values, all in one message; or one with values. 1 when it went well.
int reel_postgres_send(const struct reel_postgres *library, struct pg_conn *connection, const char *statements);
int reel_postgres_send_values(
    const struct reel_postgres *library, struct pg_conn *connection, const char *statement, int count,
    const unsigned *types, const char *const *values, const int *lengths);
// Makes a statement known to the session by a name; or sends the values for one that is. 1 when it went well.
int reel_postgres_send_prepare(
    const struct reel_postgres *library, struct pg_conn *connection, const char *name, const char *statement, int count,
    const unsigned *types);
int reel_postgres_send_prepared(
    const struct reel_postgres *library, struct pg_conn *connection, const char *name, int count,
    const char *const *values, const int *lengths);
// 0 when all was sent, 1 when there is more to send, -1 when that failed.
int reel_postgres_flush(const struct reel_postgres *library, struct pg_conn *connection);
int reel_postgres_consume(const struct reel_postgres *library, struct pg_conn *connection);
int reel_postgres_is_busy(const struct reel_postgres *library, struct pg_conn *connection);
struct pg_result *reel_postgres_result(const struct reel_postgres *library, struct pg_conn *connection);

// The next notification that came: its channel and what it says, to be freed by `reel_postgres_free`; NULL for none.
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

/// A descriptor that is readable once it was rung, from then on; -1 where the system has none left.
int reel_postgres_event(void);
void reel_postgres_ring(int event);
#endif

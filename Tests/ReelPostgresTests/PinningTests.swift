import Foundation
import ReelCore
import ReelTestServers
import Testing

@testable import ReelPostgres

/// What holds at the beginning of every transaction, whatever the server, the database or the role says by itself.
@Suite(.besidePostgres) struct PinningTests {
  /// Each pair of types for which PostgreSQL has no operator of its own is one for which `public` may have one.
  private static let trap = """
    CREATE TABLE public.caught (what text);
    CREATE FUNCTION public.caught(a numeric, b integer) RETURNS numeric LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('*'); RETURN pg_catalog.numeric_mul(a, b); END $$;
    CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.caught);
    CREATE FUNCTION public.unnest(a bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('unnest'); RETURN QUERY SELECT pg_catalog.unnest(a); END $$;
    CREATE FUNCTION public.caught(a text, b bigint) RETURNS text LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('||'); RETURN a OPERATOR(pg_catalog.||) b; END $$;
    CREATE OPERATOR public.|| (LEFTARG = text, RIGHTARG = bigint, FUNCTION = public.caught);
    CREATE FUNCTION public.sha256(a bytea) RETURNS bytea LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('sha256'); RETURN pg_catalog.sha256(a); END $$;
    """

  @Test func whatOthersHaveCreatedInPublicIsNotRun() async throws {
    let database = try await TestDatabase()
    let db = try database.connect()
    try db.execute(Self.trap)
    try db.execute("ALTER DATABASE \(database.name) SET search_path = public, pg_catalog, reel")
    // It works where nothing is pinned.
    let unpinned = try database.connect()
    _ = try unpinned.rows("SELECT 1::numeric * 1000") { _ in true }
    func caught() throws -> Int? { try db.value("SELECT count(*) FROM public.caught", as: Int.self) }
    try #require(try caught() == 1)

    let pool = try database.pool()
    let catalog = try await PostgresCatalog.open(pool)
    let queue = try WorkQueue(pool)
    _ = try queue.enqueue([NewItem(address: SourcePath("/a"), version: "1", size: 1)])
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) })
    try worker.freeWhatIsDue()
    _ = try WorkQueue.status(pool)
    _ = try await catalog.status()
    _ = try await catalog.owners()
    #expect(try await catalog.damage().isEmpty)
    try await catalog.releaseWhatTheDeadHold()
    try worker.retire()
    try await catalog.close()
    #expect(try caught() == 1)
  }

  @Test func everyTransactionAndEveryReadIsPinned() async throws {
    let database = try await TestDatabase()
    try database.connect().execute(
      "ALTER DATABASE \(database.name) SET search_path = public, pg_catalog, reel")
    let pool = try database.pool()
    func path(_ db: PostgresConnection) throws -> String? {
      try db.value("SELECT pg_catalog.current_setting('search_path')", as: String.self)
    }
    #expect(try pool.read(path) == "pg_catalog, pg_temp")
    #expect(try pool.transaction { try path($0.connection) } == "pg_catalog, pg_temp")
    // It ends with the transaction, so that nobody behind a pooler gets it.
    #expect(try pool.withConnection(path) == "public, pg_catalog, reel")
  }

  @Test func whatIsCommittedIsOnDiskOverEveryConnection() async throws {
    let database = try await TestDatabase()
    let pool = try database.pool()
    func commits() throws -> String? {
      try pool.transaction { tx in
        try tx.value("SELECT current_setting('synchronous_commit')", as: String.self)
      }
    }
    #expect(try commits() == "on")
    for (given, expected) in [("off", "on"), ("remote_apply", "remote_apply"), ("off", "on")] {
      try database.connect().execute("ALTER DATABASE \(database.name) SET synchronous_commit = '\(given)'")
      // A connection of before, which goes on as it was, and one of afterwards.
      let beside = try pool.transaction { _ in try commits() }
      #expect(beside == expected)
      pool.forgetIdle()
    }
  }

  @Test func aPatienceWithoutEndIsNone() async throws {
    let database = try await TestDatabase()
    for seconds in ["9223372036854775807", "2147483647", "-1", "0"] {
      let address = try PostgresAddress(
        database.url() + "?connect_timeout=\(seconds)", passwords: .elsewhere, library: try PostgresLibrary(),
        environment: { _ in nil })
      let db = try? PostgresConnection(address, library: try PostgresLibrary())
      #expect(try db.map { try $0.value("SELECT 1", as: Int.self) } ?? 1 == 1)
    }
  }

  @Test func aPlaceThatWasNotAskedForIsAnError() async throws {
    let db = try await TestDatabase().connect()
    for place in [0, -1, 4, Int64.max, .min] {
      #expect(throws: PostgresError.self) {
        _ = try db.rows("SELECT $1::bigint", [.int(place)]) { try $0.place(in: 3) }
      }
    }
    #expect(try db.rows("SELECT 3::bigint") { try $0.place(in: 3) } == [2])
  }
}

import ReelCore
import ReelTestServers

@testable import ReelLibrary
@testable import ReelPostgres

/// A library on which a check plays several processes.
protocol CatalogStage: Sendable {
  var clock: SettableClock { get }

  /// Of the tables that the catalog keeps.
  var schemaVersion: Int { get }

  /// One more process.
  func open() async throws -> any PostCatalog

  /// Ends a process without a word, and comes back when the others can see that it is dead.
  func kill(_ catalog: any PostCatalog) async throws
}

struct SQLiteStage: CatalogStage {
  let clock = SettableClock()
  let schemaVersion = 9
  let temporary: TemporaryLibrary

  init() async throws { temporary = try await TemporaryLibrary() }

  func open() async throws -> any PostCatalog { try await openSQLite() }

  /// Nobody sees a holder in its own process, so a wait has the time-out alone: it is long, for slow disks. And a
  /// heartbeat between the setting of the clock and what a check then does would renew the lease.
  func openSQLite(host: String? = nil, heartbeat: Duration = .seconds(86_400)) async throws -> SQLiteCatalog {
    try await SQLiteCatalog.open(
      library: temporary.library, clock: clock, heartbeat: heartbeat, busyTimeout: .seconds(600), host: host)
  }

  func kill(_ catalog: any PostCatalog) async throws { try await (catalog as? SQLiteCatalog)?.die() }
}

struct MemoryStage: CatalogStage {
  let clock: SettableClock
  let schemaVersion = 9
  private let first: MemoryCatalog

  init() {
    clock = SettableClock()
    first = MemoryCatalog(clock: clock)
  }

  func open() async throws -> any PostCatalog { first.another() }

  func kill(_ catalog: any PostCatalog) { (catalog as? MemoryCatalog)?.die() }
}

final class PostgresStage: CatalogStage {
  let clock = SettableClock()
  let schemaVersion = 9
  let database: TestDatabase
  /// Of what stands before the server; nil for itself.
  let port: Int?

  /// - Parameter port: nil for the server's.
  init(port: Int? = nil) async throws {
    database = try await TestDatabase()
    self.port = port
  }

  deinit { database.drop() }

  func open() async throws -> any PostCatalog { try await openPostgres() }

  /// Leases go by the server's clock, which nobody can set.
  func openPostgres(
    host: String? = nil, lease: Duration = .seconds(3600), heartbeat: Duration = .seconds(86_400)
  ) async throws -> PostgresCatalog {
    try await PostgresCatalog.open(
      try database.pool(port: port), clock: clock, postClock: clock, lease: lease, heartbeat: heartbeat,
      host: host)
  }

  func kill(_ catalog: any PostCatalog) async throws { try await (catalog as? PostgresCatalog)?.die() }
}

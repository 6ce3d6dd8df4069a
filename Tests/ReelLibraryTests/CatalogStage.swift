import ReelCore
import ReelTestServers

@testable import ReelLibrary
@testable import ReelPostgres

/// A library on which a check simulates several processes.
protocol CatalogStage: Sendable {
  var clock: SettableClock { get }

  /// The version of the catalog's tables.
  var schemaVersion: Int { get }

  /// Opens the catalog as one more process.
  func open() async throws -> any PostCatalog

  /// Ends a process abruptly, and returns once the others can see that it is dead.
  func kill(_ catalog: any PostCatalog) async throws
}

struct SQLiteStage: CatalogStage {
  let clock = SettableClock()
  let schemaVersion = 9
  let temporary: TemporaryLibrary

  init() async throws { temporary = try await TemporaryLibrary() }

  func open() async throws -> any PostCatalog { try await openSQLite() }

  /// Opens the catalog with a long timeout for slow disks, since no lock holder is detected within one process. The
  /// heartbeat is long, too: one between setting the clock and the check's next step would renew the lease.
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
  /// The port of a proxy in front of the server; nil for the server's own.
  let port: Int?

  /// - Parameter port: The port of a proxy; nil for the server's own port.
  init(port: Int? = nil) async throws {
    database = try await TestDatabase()
    self.port = port
  }

  deinit { database.drop() }

  func open() async throws -> any PostCatalog { try await openPostgres() }

  /// Opens the catalog with leases that go by the server's clock, which no test can set.
  func openPostgres(
    host: String? = nil, lease: Duration = .seconds(3600), heartbeat: Duration = .seconds(86_400)
  ) async throws -> PostgresCatalog {
    try await PostgresCatalog.open(
      try database.pool(port: port), clock: clock, postClock: clock, lease: lease, heartbeat: heartbeat,
      host: host)
  }

  func kill(_ catalog: any PostCatalog) async throws { try await (catalog as? PostgresCatalog)?.die() }
}

import ReelCore

@testable import ReelLibrary

/// A library on which a check plays several processes.
protocol CatalogStage: Sendable {
  var clock: SettableClock { get }

  /// One more process.
  func open() async throws -> any PostCatalog

  /// Ends a process without a word, and comes back when the others can see that it is dead.
  func kill(_ catalog: any PostCatalog) async throws
}

/// The catalogs that keep the promises.
enum CatalogKind: String, CaseIterable, Sendable {
  case sqlite, memory

  func stage() async throws -> any CatalogStage {
    switch self {
    case .sqlite: try await SQLiteStage()
    case .memory: MemoryStage()
    }
  }
}

struct SQLiteStage: CatalogStage {
  let clock = SettableClock()
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
  private let first: MemoryCatalog

  init() {
    clock = SettableClock()
    first = MemoryCatalog(clock: clock)
  }

  func open() async throws -> any PostCatalog { first.another() }

  func kill(_ catalog: any PostCatalog) { (catalog as? MemoryCatalog)?.die() }
}

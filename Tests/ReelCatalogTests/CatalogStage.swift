import ReelCatalog
import ReelModel

@testable import ReelCatalog

/// A library on which a check plays several processes.
protocol CatalogStage: Sendable {
  var clock: SettableClock { get }

  /// One more process.
  func open() async throws -> any PostCatalog

  /// Ends a process without a word.
  func kill(_ catalog: any PostCatalog)
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

  func openSQLite(host: String? = nil, busyTimeout: Duration = .seconds(10)) async throws -> SQLiteCatalog {
    try await SQLiteCatalog.open(
      library: temporary.library, clock: clock, busyTimeout: busyTimeout, host: host)
  }

  func kill(_ catalog: any PostCatalog) { (catalog as? SQLiteCatalog)?.abandon() }
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

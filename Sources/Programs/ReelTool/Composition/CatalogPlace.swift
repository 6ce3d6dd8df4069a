import ReelCatalogCopy
import ReelCore
import ReelLibrary
import ReelPostgres
import ReelProcess
import ReelStorage
import ReelTerminal
import ReelUpkeep

/// Where a command's catalog is.
enum CatalogPlace: Sendable {
  /// In this library folder.
  case library(String)
  /// On a server that several machines share.
  case server(PostgresAddress, PostgresLibrary)

  /// The place that `--catalog` names, else the library.
  /// - Throws: ``CommandFailure``, whose message repeats no password.
  init(_ settings: Settings) throws {
    guard let catalog = settings.catalog else {
      self = .library(try AppContext.libraryPath(settings))
      return
    }
    guard PostgresAddress.isOne(catalog.address) else {
      throw CommandFailure(
        .usage,
        "the catalog's address is written like postgres://reel@db.example/reel; a library in a folder is named by --library"
      )
    }
    try self.init(server: catalog)
  }

  /// The place that an argument names: an address, or a library folder.
  /// - Throws: ``CommandFailure``, whose message repeats no password.
  init(named text: String) throws {
    if PostgresAddress.isOne(text) {
      try self.init(server: CatalogSetting(address: text, isArgument: true))
    } else if MistakenPath.isAddress(text) {
      throw CommandFailure(
        .usage,
        "a catalog is in a library folder, or at an address that is written like postgres://reel@db.example/reel"
      )
    } else {
      self = .library(text)
    }
  }

  private init(server catalog: CatalogSetting) throws {
    let environment = ProcessEnvironment.current()
    // libpq reads these variables itself. They are only examined for what they leave undecided.
    let variables = try environment.texts { $0.hasPrefix("PG") }
    do {
      let library = try PostgresLibrary()
      let address = try PostgresAddress(
        catalog.address, passwords: catalog.isArgument ? .elsewhere : .inAddress, library: library,
        environment: { name in variables[name].flatMap { $0.isEmpty ? nil : $0 } })
      self = .server(address, library)
    } catch let error as PostgresError {
      throw CommandFailure(error.kind == .badAddress ? .usage : .couldNotRun, error.message)
    }
  }

  private static func pool(_ address: PostgresAddress, _ library: PostgresLibrary) -> PostgresPool {
    var settings = PostgresPool.Settings()
    settings.onWait = { LongWait.tell($0) }
    if let patience = DebugSteps.patience { settings.patience = patience }
    return PostgresPool(address, library: library, settings: settings)
  }

  /// A pool of connections to the server; nil for a library.
  func pool() -> PostgresPool? {
    guard case .server(let address, let library) = self else { return nil }
    return Self.pool(address, library)
  }

  /// The SQLite library that keeps the catalog; nil on a server.
  var sqlite: SQLiteLibrary? {
    switch self {
    case .library: .ofThisProcess
    case .server: nil
    }
  }

  /// The name that is shown to users.
  var name: String {
    switch self {
    case .library(let path): path
    case .server(let address, _): address.name
    }
  }

  /// The library folder; nil where there is none.
  var library: String? {
    switch self {
    case .library(let path): path
    case .server: nil
    }
  }

  /// The message of a command that has nothing to look at.
  var absence: String {
    switch self {
    case .library(let path):
      "there is no library at \(path): name another with --library, or publish something, which makes one"
    case .server(let address, _):
      "there is no catalog in \(address.name): name another with --catalog, or enqueue or publish something, which makes one"
    }
  }

  /// - Throws: ``CatalogError`` where there is no library. A library folder without a catalog counts as one.
  private func checkIsThere() async throws(CatalogError) {
    guard case .library(let path) = self else { return }
    if try await LibraryFolder.existing(at: path) == nil { throw CatalogError(.unusable, absence) }
  }

  /// Opens the catalog for a command that examines what is there; nil for a library that has none yet.
  /// - Throws: ``CatalogError``, also for a database without a catalog: it may be the wrong one, and a clean result
  ///   would prove nothing.
  func examined() async throws(CatalogError) -> (any WholeCatalog)? {
    try await checkIsThere()
    let catalog = try await reading()
    if catalog == nil, library == nil { throw CatalogError(.unusable, absence) }
    return catalog
  }

  /// Opens the catalog for reading; nil when there is none yet.
  func reading() async throws(CatalogError) -> (any WholeCatalog)? {
    switch self {
    case .library(let path):
      guard let library = try await LibraryFolder.existing(at: path) else { return nil }
      return try await SQLiteCatalog.openReadOnly(library: library)
    case .server(let address, let library):
      return try await PostgresCatalog.openReadOnly(Self.pool(address, library))
    }
  }

  /// Whether there is a catalog. One of an older Reel counts: the next process that writes to it upgrades it.
  func isThere() async throws(CatalogError) -> Bool {
    switch self {
    case .library: try await reading() != nil
    case .server(let address, let library):
      try await PostgresCatalog.isThere(Self.pool(address, library))
    }
  }

  /// Opens the catalog for writing, and creates it if there is none.
  func writing() async throws(CatalogError) -> any WholeCatalog {
    switch self {
    case .library(let path):
      let folder = try await LibraryFolder.prepare(at: path)
      if await showsFiles(inFolder: folder.temporaryPath) {
        LongWait.tellOnce(
          "the file system of the library \(folder.path) does not keep permissions: others on this machine may read its "
            + "catalog; to keep them out, mount it for this user alone (uid= and umask=077)")
      }
      return try await SQLiteCatalog.open(
        library: folder, lease: DebugSteps.lease, onWait: { hold in LongWait.tell(hold) })
    case .server(let address, let library):
      return try await PostgresCatalog.open(Self.pool(address, library), lease: DebugSteps.lease)
    }
  }

  /// Whether both places are the same catalog, as far as their names tell.
  func isSame(as other: CatalogPlace) async throws -> Bool {
    if name == other.name { return true }
    guard let path = library, let otherPath = other.library else { return false }
    guard let one = try await LibraryFolder.existing(at: path) else { return false }
    return try await LibraryFolder.existing(at: otherPath) == one
  }

  /// The catalog as the source of a copy.
  /// - Throws: ``CatalogError`` where there is none.
  func copySource() async throws(CatalogError) -> any CatalogCopySource {
    switch self {
    case .library(let path):
      guard let library = try await LibraryFolder.existing(at: path) else {
        throw CatalogError(.unusable, "there is no library at \(path): name another")
      }
      return LibraryCopySource(library, host: MachineName.current())
    case .server(let address, let library):
      return PostgresCopySource(Self.pool(address, library))
    }
  }

  /// The place as the target of a copy.
  func copyTarget() -> any CatalogCopyTarget {
    switch self {
    case .library(let path): LibraryCopyTarget(path, host: MachineName.current())
    case .server(let address, let library): PostgresCopyTarget(Self.pool(address, library))
    }
  }

  /// The library folder, for a command that needs one.
  /// - Parameter instead: what to do if the catalog is on a server, as the end of a sentence.
  /// - Throws: ``CommandFailure``.
  func needingLibrary(_ instead: String) throws -> String {
    guard let library else {
      throw CommandFailure(
        .usage,
        "the catalog \(name) is on a server, and this command is about a library in a folder: \(instead)")
    }
    return library
  }
}

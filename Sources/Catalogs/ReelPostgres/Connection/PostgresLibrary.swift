import CPostgres
import FoundationEssentials

/// libpq's functions, found by name the first time that a server is used: who keeps the catalog in SQLite never loads
/// it.
package struct PostgresLibrary: @unchecked Sendable {
  // Sendable: the table is written once, before anybody has it.
  let table: OpaquePointer

  /// The library's file, as every distribution names it.
  package static let fileName = "libpq.so.5"

  /// Opens the library, which stays loaded; so does the table, a page of memory. Blocks.
  /// - Throws: ``PostgresError``.
  package init(opening name: String = PostgresLibrary.fileName) throws {
    var why = [CChar](repeating: 0, count: 300)
    guard let table = reel_postgres_open(name, &why, why.count) else {
      let reason = String(
        decoding: why.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      throw PostgresError(
        .noLibrary,
        "PostgreSQL's library \(name) can't be opened (\(reason)): install it (Debian: libpq5)")
    }
    self.table = table
  }

  /// The parts of `address` that say something, by libpq's names for them; nil when libpq can't read it.
  func parts(of address: String) -> [(name: String, value: String)]? {
    reel_postgres_parse(table, address).map(read)
  }

  /// With what `connection` connects, wherever that is said.
  func parts(of connection: OpaquePointer) -> [String: String] {
    let parts = reel_postgres_options(table, connection).map(read) ?? []
    return Dictionary(parts.map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// Frees `options`.
  private func read(_ options: UnsafeMutablePointer<reel_postgres_option>) -> [(name: String, value: String)]
  {
    defer { reel_postgres_free_options(table, options) }
    var parts: [(String, String)] = []
    var next = options
    while let keyword = next.pointee.keyword {
      if let value = next.pointee.value { parts.append((String(cString: keyword), String(cString: value))) }
      next += 1
    }
    return parts
  }
}

/// What went wrong with a server, or on the way to it.
package struct PostgresError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Which kind it is.
  package enum Kind: Hashable, Sendable {
    /// libpq is not installed.
    case noLibrary
    /// The address is not one, or names what may not stand in it.
    case badAddress
    /// There is no connection: it could not be made, was cut, or the server did not answer in time.
    case disconnected
    /// The server said that it can't be done.
    case refused
    /// An answer that Reel does not understand.
    case unexpected
  }

  package let kind: Kind
  /// The server's code (PostgreSQL, appendix A); nil where it has not said one.
  package let state: String?
  /// The constraint that was violated; nil where it is about none.
  package let constraint: String?
  /// What libpq or the server said, or a sentence of our own.
  package let message: String

  package init(_ kind: Kind, state: String? = nil, constraint: String? = nil, _ message: String) {
    self.kind = kind
    self.state = state
    self.constraint = constraint
    self.message = message
  }

  package var description: String { state.map { "\(message) (\($0))" } ?? message }

  /// The server ended this transaction for the sake of another; the same once more may well succeed.
  package var isConflict: Bool { ["40001", "40P01"].contains(state) }

  /// No connection, or one to a server that is going, coming, or not the one that takes writes: after a restart or a
  /// failover the same may succeed over another connection.
  package var isOutage: Bool {
    guard let state else { return kind == .disconnected }
    return state.hasPrefix("08") || isPassing
      || ["57P01", "57P02", "57P05", Self.takesNoWrites, "25P03", "58000", "58030"].contains(state)
  }

  /// The server is there, and has no connection to give just now: it is starting, or has too many.
  var isPassing: Bool { state == "57P03" || isOutOfConnections }

  var isOutOfConnections: Bool { state == "53300" }

  /// The code of a server that takes no writes.
  static let takesNoWrites = "25006"

  /// Whether it may be the fault of one of several things that were to be written: data that the server can't take.
  var mayBeOfOne: Bool { state.map { ["22", "23", "54"].contains($0.prefix(2)) } ?? false }

  package var isUniqueViolation: Bool { state == "23505" }
}

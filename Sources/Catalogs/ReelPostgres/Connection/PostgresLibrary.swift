import CPostgres
import FoundationEssentials

/// libpq's functions, looked up by name when a server is first used. A program with
/// its catalog in SQLite never loads it.
package struct PostgresLibrary: @unchecked Sendable {
  // Sendable: the table is written once, before it is shared.
  let table: OpaquePointer

  /// The library's file, as every distribution names it.
  package static let fileName = "libpq.so.5"

  /// Opens the library. It stays loaded, and so does the table, a page of memory. Blocks.
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

  /// Returns the parts of `address` that have a value, by libpq's names; nil if libpq can't parse it.
  func parts(of address: String) -> [(name: String, value: String)]? {
    reel_postgres_parse(table, address).map(read)
  }

  /// Returns the parameters of `connection`, wherever they come from.
  func parts(of connection: OpaquePointer) -> [String: String] {
    let parts = reel_postgres_options(table, connection).map(read) ?? []
    return Dictionary(parts.map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// Reads `options`, and frees them.
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

/// An error of a server, or on the way to it.
package struct PostgresError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of an error.
  package enum Kind: Hashable, Sendable {
    /// libpq is not installed.
    case noLibrary
    /// The address is invalid, or contains what it must not.
    case badAddress
    /// There is no connection: it could not be made, was cut, or the server did not answer in time.
    case disconnected
    /// The server refused.
    case refused
    /// The server gave an answer that Reel does not understand.
    case unexpected
  }

  package let kind: Kind
  /// The server's code (PostgreSQL, appendix A); nil if it has not sent one.
  package let state: String?
  /// The constraint that was violated, if any.
  package let constraint: String?
  /// A message of libpq or the server, or a sentence of Reel's own.
  package let message: String

  package init(_ kind: Kind, state: String? = nil, constraint: String? = nil, _ message: String) {
    self.kind = kind
    self.state = state
    self.constraint = constraint
    self.message = message
  }

  package var description: String { state.map { "\(message) (\($0))" } ?? message }

  /// Whether the server ended this transaction in favor of another. Repeating it may well succeed.
  package var isConflict: Bool { ["40001", "40P01"].contains(state) }

  /// Whether there is no connection, or one to a server that is stopping, starting, or not the one that takes writes.
  /// After a restart or a failover, the same may succeed over another connection.
  package var isOutage: Bool {
    guard let state else { return kind == .disconnected }
    return state.hasPrefix("08") || isPassing
      || ["57P01", "57P02", "57P05", Self.takesNoWrites, "25P03", "58000", "58030"].contains(state)
  }

  /// Whether the server is there, but has no connection available now: it is starting, or has too many.
  var isPassing: Bool { state == "57P03" || isOutOfConnections }

  var isOutOfConnections: Bool { state == "53300" }

  /// The code of a server that takes no writes.
  static let takesNoWrites = "25006"

  /// Whether it may be the fault of one of several things to be written: data that the server rejects.
  var mayBeOfOne: Bool { state.map { ["22", "23", "54"].contains($0.prefix(2)) } ?? false }

  package var isUniqueViolation: Bool { state == "23505" }
}

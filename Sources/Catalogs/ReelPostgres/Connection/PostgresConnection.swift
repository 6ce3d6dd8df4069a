import CPostgres
import FoundationEssentials
import Glibc

/// A connection to a server. Every call blocks, but for no longer than the given time; then it throws `disconnected`,
/// and the connection can no longer be used.
///
/// It keeps state in the session (settings, prepared statements) only if it is direct (``isDirect``). So it may be one
/// of PgBouncer's, in its transaction mode.
package final class PostgresConnection: @unchecked Sendable {
  // Sendable: only the thread that has taken it from the pool uses it.
  private let library: PostgresLibrary
  private var link: Link
  private let haste: Haste
  /// When the current wait began.
  private var begun = ContinuousClock.now

  /// How long one statement may take.
  package var timeout: Duration

  /// Whether the session at the server belongs to this connection alone, as long as it lasts (``ConnectionSettings``).
  var isDirect = false
  /// The purpose for which it was set up.
  var purpose = ConnectionSettings.Purpose.reports
  private var prepared = PreparedStatements()
  /// How many statements may still be sent; nil for any number.
  private var statementsLeft: Int?

  /// False once the connection can no longer be used.
  package private(set) var isUsable = true

  /// Connects to the first of the address's hosts that is suitable.
  /// - Parameter connectTimeout: the time for each host, unless the address states one.
  /// - Throws: ``PostgresError`` (`disconnected`, or `refused` for a server that is too old).
  package init(
    _ address: PostgresAddress, library: PostgresLibrary, connectTimeout: Duration = .seconds(15),
    timeout: Duration = .seconds(60), haste: Haste = Haste()
  ) throws {
    link = try Link(address.parameters, library)
    self.library = library
    self.timeout = timeout
    self.haste = haste
    try connect(address, connectTimeout)
    let version = reel_postgres_server_version(library.table, connection)
    guard version >= 130_000 else {
      throw PostgresError(
        .refused, "the server is PostgreSQL \(version / 10_000), but Reel needs 13 or newer")
    }
  }

  private var connection: OpaquePointer { link.connection }

  /// Whether no transaction is open.
  var isOutsideTransaction: Bool {
    reel_postgres_transaction_status(library.table, connection) == Int32(REEL_POSTGRES_IDLE)
  }

  /// The server process that was reported when the connection was made.
  var serverProcess: Int { Int(reel_postgres_server_process(library.table, connection)) }

  // MARK: Statements

  /// Sends `statements`, which have no values, in one message, and waits for the end of the last.
  package func execute(_ statements: String) throws {
    try countStatement()
    guard reel_postgres_send(library.table, connection, statements) == 1 else { throw lost() }
    try finish { _ in }
  }

  /// Begins a transaction that writes, by `statements`.
  ///
  /// A standby refuses even to begin one, with the code of an unsupported feature (0A000). This throws the code of
  /// every other server that takes no writes instead.
  package func begin(_ statements: String) throws {
    do {
      try execute(statements)
    } catch let error as PostgresError where error.state == "0A000" {
      throw PostgresError(.refused, state: "25006", error.message)
    }
  }

  /// Carries out one statement, and returns the number of rows that it changed or returned.
  @discardableResult
  package func run(_ statement: String, _ values: [PostgresValue] = []) throws -> Int {
    var changed = 0
    try send(statement, values)
    try finish { result in
      changed = Int(String(cString: reel_postgres_changed(library.table, result))) ?? 0
    }
    return changed
  }

  /// Returns what `read` makes of each row of a statement's answer.
  package func rows<Value>(
    _ statement: String, _ values: [PostgresValue] = [], _ read: (PostgresRow) throws -> Value
  ) throws -> [Value] {
    var found: [Value] = []
    var failure: (any Error)?
    try send(statement, values)
    try finish { result in
      guard reel_postgres_result_status(library.table, result) == Int32(REEL_POSTGRES_ROWS) else { return }
      let count = reel_postgres_rows(library.table, result)
      var columns: [String: Int32] = [:]
      for column in 0..<reel_postgres_columns(library.table, result) {
        guard let name = reel_postgres_column_name(library.table, result, column) else { continue }
        columns[String(cString: name)] = column
      }
      found.reserveCapacity(Int(count))
      do {
        for row in 0..<count {
          found.append(try read(PostgresRow(library: library, result: result, row: row, columns: columns)))
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return found
  }

  /// Returns what `read` makes of the first row of the answer; nil if there is none.
  package func row<Value>(
    _ statement: String, _ values: [PostgresValue] = [], _ read: (PostgresRow) throws -> Value
  ) throws -> Value? {
    try rows(statement, values, read).first
  }

  /// Returns the first column of the first row; nil if there is no row, or NULL in it.
  package func value<Value: PostgresReadable>(
    _ statement: String, _ values: [PostgresValue] = [], as type: Value.Type = Value.self
  ) throws -> Value? {
    try row(statement, values) { try $0[0] as Value? } ?? nil
  }

  // MARK: Notifications

  /// Returns the notifications on channels that this connection listens to, waiting for the first one up to `limit`.
  ///
  /// Call this on a connection of one's own, direct to the server: one of PgBouncer's is shared, and receives nothing.
  package func notifications(waiting limit: Duration) throws -> [(channel: String, said: String)] {
    begun = .now
    let end = begun + limit
    while true {
      guard reel_postgres_consume(library.table, connection) == 1 else { throw lost() }
      var heard: [(String, String)] = []
      var (channel, said): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
      while let notification = reel_postgres_notification(library.table, connection, &channel, &said) {
        heard.append((channel.map { String(cString: $0) } ?? "", said.map { String(cString: $0) } ?? ""))
        reel_postgres_free(library.table, notification)
      }
      if !heard.isEmpty { return heard }
      guard try wait(for: Int16(POLLIN), until: end) else { return [] }
    }
  }

  // MARK: Waiting

  /// Tries several hosts in turn, each with its own timeout. libpq, which goes on from a host that refuses to the next
  /// by itself, applies a timeout only where it does the waiting.
  private func connect(_ address: PostgresAddress, _ timeout: Duration) throws {
    let settings = library.parts(of: connection)
    // libpq's minimum is two seconds.
    let timeout =
      settings["connect_timeout"].flatMap { Int($0) }.map { $0 > 0 ? .seconds(max(2, $0)) : timeout }
      ?? timeout
    let turns = PostgresHosts(settings).turns
    guard turns.count > 1 else { return try connect(within: timeout) }
    var errors: [PostgresError] = []
    for turn in turns {
      do {
        link = try Link(address.parameters.merging(turn) { $1 }, library)
        return try connect(within: timeout)
      } catch let error as PostgresError {
        errors.append(error)
      }
    }
    throw PostgresError(ofHosts: errors)
  }

  private func connect(within timeout: Duration) throws {
    begun = .now
    let end = begun + timeout
    // The first thing to wait for is that the socket can be written to (libpq, "PQconnectStartParams").
    var status = Int32(REEL_POSTGRES_WRITING)
    while status != Int32(REEL_POSTGRES_OK) {
      guard status != Int32(REEL_POSTGRES_FAILED),
        reel_postgres_status(library.table, connection) != Int32(REEL_POSTGRES_BAD)
      else { throw lost() }
      let event = status == Int32(REEL_POSTGRES_READING) ? POLLIN : POLLOUT
      guard try wait(for: Int16(event), until: end) else {
        throw PostgresError(.disconnected, "the server did not answer in time")
      }
      status = reel_postgres_connect_poll(library.table, connection)
    }
  }

  /// Runs `body`, which may carry out one statement only: without BEGIN, each statement is a transaction of its own.
  func carryingOutOne<Value>(_ body: () throws -> Value) throws -> Value {
    statementsLeft = 1
    defer { statementsLeft = nil }
    return try body()
  }

  private func countStatement() throws {
    guard let left = statementsLeft else { return }
    guard left > 0 else { throw PostgresError(.unexpected, "a second statement without a transaction") }
    statementsLeft = left - 1
  }

  private func send(_ statement: String, _ values: [PostgresValue]) throws {
    try countStatement()
    let types = values.map(\.type.rawValue)
    var name: String?
    if isDirect, purpose == .steps {
      switch prepared.use(of: statement, types) {
      case .plain: break
      case .prepared(let known): name = known
      case .toPrepare(let new):
        guard
          reel_postgres_send_prepare(
            library.table, connection, new, statement, Int32(types.count), types) == 1
        else { throw lost() }
        try finish { _ in }
        prepared.keep(new, for: statement, types)
        name = new
      }
    }
    let encoded = values.map(\.encoded)
    // libpq takes lengths of 31 bits, and the server takes no message of a gigabyte.
    guard encoded.reduce(0, { $0 + ($1?.count ?? 0) }) < 1 << 30 else {
      throw PostgresError(.refused, state: "54000", "this is more data than a server accepts at once")
    }
    let lengths = encoded.map { Int32(clamping: $0?.count ?? 0) }
    // One block for all values. Each is followed by a zero, so that an empty one has an address, too.
    var block: [UInt8] = []
    block.reserveCapacity(encoded.reduce(0) { $0 + ($1?.count ?? 0) + 1 })
    var offsets: [Int?] = []
    for value in encoded {
      offsets.append(value.map { _ in block.count })
      if let value { block += value }
      block.append(0)
    }
    let sent = block.withUnsafeBytes { bytes in
      let block = bytes.assumingMemoryBound(to: CChar.self)
      let pointers = offsets.map { offset in offset.flatMap { block.baseAddress?.advanced(by: $0) } }
      return if let name {
        reel_postgres_send_prepared(
          library.table, connection, name, Int32(values.count), pointers, lengths)
      } else {
        reel_postgres_send_values(
          library.table, connection, statement, Int32(values.count), types, pointers, lengths)
      }
    }
    guard sent == 1 else { throw lost() }
  }

  /// Sends what has not been sent, waits for the answers, and passes each that is not an error to `body`.
  /// - Throws: the first error, once all answers have been read.
  private func finish(_ body: (OpaquePointer) -> Void) throws {
    begun = .now
    let end = begun + timeout
    try flush(until: end)
    var failure: PostgresError?
    while let result = try nextResult(until: end) {
      defer { reel_postgres_clear(library.table, result) }
      switch reel_postgres_result_status(library.table, result) {
      case Int32(REEL_POSTGRES_COMMAND), Int32(REEL_POSTGRES_ROWS), Int32(REEL_POSTGRES_EMPTY): body(result)
      default: failure = failure ?? error(of: result)
      }
    }
    if reel_postgres_status(library.table, connection) == Int32(REEL_POSTGRES_BAD) {
      isUsable = false
      // The server's last message, such as that it is being shut down, may have come before the end.
      throw failure.flatMap { $0.isOutage ? $0 : nil } ?? lost()
    }
    if let failure {
      if failure.isOutage { isUsable = false }
      throw failure
    }
  }

  private func flush(until end: ContinuousClock.Instant) throws {
    while true {
      switch reel_postgres_flush(library.table, connection) {
      case 0: return
      case 1:
        // A server may read on only when its answers are read.
        guard try wait(for: Int16(POLLIN | POLLOUT), until: end) else { throw late() }
        guard reel_postgres_consume(library.table, connection) == 1 else { throw lost() }
      default: throw lost()
      }
    }
  }

  private func nextResult(until end: ContinuousClock.Instant) throws -> OpaquePointer? {
    while reel_postgres_is_busy(library.table, connection) != 0 {
      guard try wait(for: Int16(POLLIN), until: end) else { throw late() }
      guard reel_postgres_consume(library.table, connection) == 1 else { throw lost() }
    }
    return reel_postgres_result(library.table, connection)
  }

  /// Waits for events. Returns false once `end` is reached, or the earlier limit of a program in haste.
  private func wait(for events: Int16, until end: ContinuousClock.Instant) throws -> Bool {
    while true {
      let (limit, event) = haste.limit(end, since: begun)
      var files = [
        pollfd(fd: reel_postgres_socket(library.table, connection), events: events, revents: 0),
        pollfd(fd: event, events: Int16(POLLIN), revents: 0),
      ]
      guard files[0].fd >= 0 else { throw lost() }
      // However long the wait may last (`connect_timeout`), look again after a day.
      let left = min(.seconds(86_400), max(.zero, limit - .now)) / .milliseconds(1)
      let count = poll(&files, 2, Int32(left.rounded(.up)))
      if files[0].revents != 0 { return true }
      if count < 0, errno != EINTR { throw lost() }
      if haste.limit(end, since: begun).limit <= .now { return false }
    }
  }

  // MARK: Errors

  private func lost() -> PostgresError {
    isUsable = false
    let said = RefusedConnection(String(cString: reel_postgres_error(library.table, connection)))
    return PostgresError(
      .disconnected, state: said.state, Self.sentence(said.text, or: "the connection was lost"))
  }

  private func late() -> PostgresError {
    isUsable = false
    return PostgresError(.disconnected, "the server did not answer in time")
  }

  private func error(of result: OpaquePointer) -> PostgresError {
    func field(_ field: Int) -> String? {
      reel_postgres_result_error(library.table, result, Int32(field)).map { String(cString: $0) }
    }
    let state = field(Int(REEL_POSTGRES_STATE))
    guard let message = field(Int(REEL_POSTGRES_MESSAGE)) else { return lost() }
    // An error of libpq itself, such as that the server closed the connection, has no code.
    return PostgresError(
      state == nil ? .disconnected : .refused, state: state, constraint: field(Int(REEL_POSTGRES_CONSTRAINT)),
      Self.sentence(message, or: "an error without a message"))
  }

  /// Returns `text` in one line; `other` if nothing is left.
  private static func sentence(_ text: String, or other: String) -> String {
    let words = text.split { $0 == "\n" || $0 == "\t" || $0 == "\r" }.map { line in
      line.drop { $0 == " " }
    }.joined(separator: "; ")
    return words.isEmpty ? other : words
  }
}

/// A connection of libpq, which is closed with this object.
private final class Link {
  let connection: OpaquePointer
  private let library: PostgresLibrary

  /// Begins to connect.
  init(_ parameters: [String: String], _ library: PostgresLibrary) throws {
    let names = parameters.keys.sorted()
    let keywords = CStrings(names)
    let values = CStrings(names.map { parameters[$0] ?? "" })
    let made = withExtendedLifetime((keywords, values)) {
      reel_postgres_connect(library.table, keywords.pointers, values.pointers)
    }
    guard let made else { throw PostgresError(.disconnected, "there is no memory for a connection") }
    (connection, self.library) = (made, library)
  }

  deinit { reel_postgres_finish(library.table, connection) }
}

/// C strings, terminated by NULL, which live as long as this object.
private final class CStrings {
  private(set) var pointers: [UnsafePointer<CChar>?]

  init(_ texts: [String]) {
    pointers = texts.map { UnsafePointer(strdup($0)) } + [nil]
  }

  deinit { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
}

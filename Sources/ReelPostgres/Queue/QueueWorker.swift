import Glibc
import ReelCore
import Synchronization

/// A process that takes items: a row whose lease is renewed, by the server's clock, as long as it lives. What it has
/// taken is free again once the lease is over; what it says of such an item afterwards does not count. Every call blocks.
package final class QueueWorker: Sendable {
  /// How items are handled.
  package struct Settings: Sendable {
    /// How long others leave alone what a worker has taken, after its last sign of life.
    package var lease = Duration.seconds(60)
    /// How many workers may die with an item in their hands before it is set aside.
    package var mostDeaths = 3
    /// How often an item may fail for reasons that may pass.
    package var mostFailures = 4
    /// How long after its first such failure it is tried again; each further time four times as long.
    package var pause = Duration.seconds(30)

    package init() {}
  }

  private struct State {
    var id: Int64
    var held: Set<Int64> = []
    /// The one that is held alone.
    var suspect: Int64?
  }

  private let queue: WorkQueue
  private let settings: Settings
  private let host: String
  private let destination: String
  private let state: Mutex<State>

  /// Writes the worker down.
  /// - Parameters:
  ///   - host: the machine, as `reel status` names it.
  ///   - destination: where it stores, for `reel status`.
  package init(
    _ queue: WorkQueue, host: String, destination: String, settings: Settings = Settings()
  ) throws(CatalogError) {
    (self.queue, self.host, self.destination, self.settings) = (queue, host, destination, settings)
    state = Mutex(State(id: 0))
    try register()
  }

  /// The items that it has taken and said nothing of.
  package var held: Set<Int64> { state.withLock { $0.held } }

  private func register() throws(CatalogError) {
    let id: Int64? = try queue.catalogErrors {
      try queue.pool.transaction { tx in
        try tx.value(
          """
          INSERT INTO reel.worker (host, pid, destination, started_at, lease_until)
          VALUES ($1, $2, $3, \(PostgresSchema.now), \(PostgresSchema.now) + $4) RETURNING id
          """, [.text(host), .int(Int64(getpid())), .text(destination), .int(lease)])
      }
    }
    state.withLock { $0 = State(id: id ?? 0) }
  }

  private var lease: Int64 { Int64(settings.lease / .milliseconds(1)) }

  // MARK: Taking

  /// Takes up to `count` items, the most urgent and oldest first. An item in whose presence all workers but one of the
  /// number that are allowed to have died is taken alone, so that others are not set aside with it.
  package func take(upTo count: Int) throws(CatalogError) -> [TakenItem] {
    let (id, held, suspect) = state.withLock { ($0.id, Array($0.held), $0.suspect) }
    if suspect != nil { return [] }
    let taken: [TakenItem]? = try queue.catalogErrors {
      try queue.pool.transaction { tx in
        // Whoever was not told whether an earlier attempt was committed waits here for its end.
        guard try isRegistered(tx, id) else { return nil }
        if tx.mayBeDone {
          let lost = try tx.rows(
            "SELECT item FROM reel.work WHERE worker = $1 AND state = 1 AND NOT item = ANY($2)",
            [.int(id), .ints(held)]
          ) { try $0[0] as Int64 }
          if !lost.isEmpty { return try items(lost, tx) }
        }
        return try items(try next(count, alone: held.isEmpty, id, tx), tx)
      }
    }
    guard let taken else {
      // Others found the lease over, and have what it held.
      try register()
      return []
    }
    state.withLock { state in
      guard state.id == id else { return }
      state.held.formUnion(taken.map(\.id))
      state.suspect = taken.first { isSuspect($0.deaths) }?.id
    }
    return taken
  }

  private func isRegistered(_ tx: PostgresTransaction, _ id: Int64) throws -> Bool {
    try tx.value("SELECT id FROM reel.worker WHERE id = $1 FOR NO KEY UPDATE", [.int(id)], as: Int64.self)
      != nil
  }

  /// - Parameter alone: whether the worker holds nothing.
  private func next(_ count: Int, alone: Bool, _ id: Int64, _ tx: PostgresTransaction) throws -> [Int64] {
    let found = try tx.rows(
      """
      SELECT item, deaths FROM reel.work WHERE state = 0 ORDER BY priority DESC, item LIMIT $1
      FOR UPDATE SKIP LOCKED
      """, [.int(Int64(count))]
    ) { (item: try $0[0] as Int64, deaths: try $0[1] as Int) }
    var wanted = found.filter { !isSuspect($0.deaths) }.map(\.item)
    if wanted.isEmpty, alone, let suspect = found.first { wanted = [suspect.item] }
    if wanted.isEmpty { return [] }
    try tx.run(
      """
      UPDATE reel.work SET state = 1, worker = $2, attempts = attempts + 1, changed_at = \(PostgresSchema.now)
      WHERE item = ANY($1)
      """, [.ints(wanted), .int(id)])
    return wanted
  }

  /// Whether one more death would set it aside.
  private func isSuspect(_ deaths: Int) -> Bool { deaths > 0 && deaths + 1 >= settings.mostDeaths }

  private func items(_ ids: [Int64], _ tx: PostgresTransaction) throws -> [TakenItem] {
    if ids.isEmpty { return [] }
    return try tx.rows(
      """
      SELECT item.id, address, version, size, deaths, failures
      FROM unnest($1::bigint[]) WITH ORDINALITY AS taken(id, place)
      JOIN reel.item ON item.id = taken.id JOIN reel.work ON work.item = taken.id ORDER BY place
      """, [.ints(ids)]
    ) { row in
      TakenItem(
        id: try row[0], address: SourcePath(bytes: try row[1] as [UInt8]), version: try row[2],
        size: try row[3], deaths: try row[4], failures: try row[5])
    }
  }

  // MARK: Finishing

  /// Writes down what became of items. One that is not this worker's any more, because its lease was over, is left as it is:
  /// somebody else has it.
  package func finish(_ outcomes: [ItemOutcome]) throws(CatalogError) {
    guard !outcomes.isEmpty else { return }
    let id = state.withLock { $0.id }
    let rows = outcomes.map(Row.init)
    try queue.catalogErrors {
      try queue.pool.transaction { tx in
        let states = try tx.rows(
          """
          WITH ended AS (
            SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) AS e(item, state, code, message)
          )
          UPDATE reel.work SET
            state = CASE WHEN ended.state = 2 AND failures + 1 >= $6 THEN 5 ELSE ended.state END,
            worker = NULL, changed_at = \(PostgresSchema.now),
            failures = failures + (ended.state IN (2, 5))::int,
            due_at = CASE WHEN ended.state = 2 AND failures + 1 < $6
              THEN \(PostgresSchema.now) + $7 * (4 ^ least(failures, 8))::bigint END,
            code = coalesce(ended.code, work.code), message = coalesce(ended.message, work.message)
          FROM ended WHERE work.item = ended.item AND work.worker = $1 AND work.state = 1
          RETURNING work.state
          """,
          [
            .int(id), .ints(rows.map(\.item)), .ints(rows.map(\.state)), .texts(rows.map(\.code)),
            .texts(rows.map(\.message)), .int(Int64(settings.mostFailures)),
            .int(Int64(settings.pause / .milliseconds(1))),
          ]
        ) { try $0[0] as Int64 }
        let finished = states.count { $0 > ItemState.later.rawValue }
        let failed = states.count { $0 > ItemState.done.rawValue }
        try tx.run(
          """
          UPDATE reel.worker SET finished = finished + $2, failed = failed + $3,
            lease_until = greatest(lease_until, \(PostgresSchema.now) + $4) WHERE id = $1
          """, [.int(id), .int(Int64(finished)), .int(Int64(failed)), .int(lease)])
        if rows.contains(where: { $0.state == ItemState.waiting.rawValue }) { try queue.notify(tx) }
      }
    }
    state.withLock { state in
      guard state.id == id else { return }
      state.held.subtract(outcomes.map(\.item))
      if let suspect = state.suspect, !state.held.contains(suspect) { state.suspect = nil }
    }
  }

  /// An outcome in the columns that it changes.
  private struct Row {
    let item: Int64
    let state: Int64
    let code: String?
    let message: String?

    init(_ outcome: ItemOutcome) {
      item = outcome.item
      let (state, code, message): (ItemState, String?, String?) =
        switch outcome.ending {
        case .done: (.done, nil, nil)
        case .refused(let code, let message): (.refused, code, message)
        case .failed(let code, let message): (.failed, code, message)
        case .failedForNow(let code, let message): (.later, code, message)
        case .givenBack: (.waiting, nil, nil)
        }
      (self.state, self.code, self.message) = (state.rawValue, code, message)
    }
  }

  // MARK: Living

  /// Moves the end of the lease.
  /// - Returns: false when others have found it over: then nothing that was held is its own any more.
  @discardableResult
  package func renew() throws(CatalogError) -> Bool {
    let id = state.withLock { $0.id }
    let isThere = try queue.catalogErrors {
      try queue.pool.transaction { tx in
        try tx.run(
          "UPDATE reel.worker SET lease_until = \(PostgresSchema.now) + $2 WHERE id = $1",
          [.int(id), .int(lease)])
          == 1
      }
    }
    if !isThere { try register() }
    return isThere
  }

  /// Frees what dead workers had taken, and what was to be tried again by now.
  /// - Returns: how many items are free again.
  @discardableResult
  package func freeWhatIsDue() throws(CatalogError) -> Int {
    try queue.catalogErrors {
      try queue.pool.transaction { tx in
        var count = try tx.run(
          """
          WITH due AS (
            SELECT item FROM reel.work WHERE state = 2 AND due_at <= \(PostgresSchema.now)
            ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED
          )
          UPDATE reel.work SET state = 0, due_at = NULL FROM due WHERE work.item = due.item
          """)
        let dead = try tx.rows(
          """
          SELECT id, host, pid FROM reel.worker WHERE lease_until < \(PostgresSchema.now)
          ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
          """
        ) { (id: try $0[0] as Int64, host: try $0[1] as String, pid: try $0[2] as Int64) }
        for worker in dead {
          count += try tx.run(
            """
            UPDATE reel.work SET worker = NULL, deaths = deaths + 1, changed_at = \(PostgresSchema.now),
              state = CASE WHEN deaths + 1 >= $2 THEN 6 ELSE 0 END, code = 'workerDied', message = $3
            WHERE worker = $1 AND state = 1
            """,
            [
              .int(worker.id), .int(Int64(settings.mostDeaths)),
              .text(
                "its worker (process \(worker.pid) on \(worker.host)) died, or was not heard of for longer than its lease"
              ),
            ])
          try tx.run("DELETE FROM reel.worker WHERE id = $1", [.int(worker.id)])
        }
        if count > 0 { try queue.notify(tx) }
        return count
      }
    }
  }

  /// Whether nothing is left to be done, by anybody.
  package func isQueueEmpty() throws(CatalogError) -> Bool {
    try queue.catalogErrors {
      try queue.pool.read { db in
        try db.value(
          """
          SELECT EXISTS (SELECT FROM reel.work WHERE state = 0) OR EXISTS (SELECT FROM reel.work WHERE state = 1)
            OR EXISTS (SELECT FROM reel.work WHERE state = 2)
          """, as: Bool.self) == false
      }
    }
  }

  /// Gives back what is held, and strikes the worker out.
  package func retire() throws(CatalogError) {
    let id = state.withLock { $0.id }
    try queue.catalogErrors {
      try queue.pool.transaction { tx in
        let count = try tx.run(
          """
          UPDATE reel.work SET state = 0, worker = NULL, changed_at = \(PostgresSchema.now)
          WHERE worker = $1 AND state = 1
          """, [.int(id)])
        try tx.run("DELETE FROM reel.worker WHERE id = $1", [.int(id)])
        if count > 0 { try queue.notify(tx) }
      }
    }
    state.withLock { ($0.held, $0.suspect) = ([], nil) }
  }
}

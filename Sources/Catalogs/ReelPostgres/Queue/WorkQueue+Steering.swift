import FoundationEssentials
import ReelCore

/// Which items are meant: those that meet every condition.
package struct ItemFilter: Sendable {
  package var items: [Int64]?
  package var states: [ItemState]?
  /// The codes of their last failure, refusal or death.
  package var codes: [String]?
  package var labels: [String]?
  /// The policies by which they were decided.
  package var policies: [String]?
  /// Whether they were cancelled, finally or before they ended in another way.
  package var areCancelled: Bool?
  /// Changed at this time or later.
  package var since: Date?
  /// These files, and those below these folders and addresses.
  package var places: [SourcePath]?

  package init() {}

  /// Whether it selects all items.
  package var isEmpty: Bool {
    items == nil && states == nil && codes == nil && labels == nil && policies == nil && since == nil
      && places == nil
  }

  /// A condition on a row of `reel.work`, with its item and its lane.
  var condition: (text: String, values: [PostgresValue]) {
    var (parts, values): ([String], [PostgresValue]) = (["true"], [])
    func add(_ value: PostgresValue, _ part: (String) -> String) {
      values.append(value)
      parts.append(part("$\(values.count)"))
    }
    if let items { add(.ints(items)) { "work.item = ANY(\($0))" } }
    if let states { add(.ints(states.map(\.rawValue))) { "work.state = ANY(\($0))" } }
    if let codes { add(.texts(codes)) { "work.code = ANY(\($0))" } }
    if let labels { add(.texts(labels)) { "lane.label = ANY(\($0))" } }
    if let policies { add(.texts(policies)) { "work.policy = ANY(\($0))" } }
    if let areCancelled { add(.bool(areCancelled)) { "work.is_cancelled = \($0)" } }
    if let since { add(.int(since.milliseconds)) { "work.changed_at >= \($0)" } }
    if let places {
      add(.byteStrings(places.map(\.bytes))) { places in
        """
        EXISTS (SELECT FROM unnest(\(places)::bytea[]) AS place(named)
          WHERE item.address = named OR length(named) > 0 AND substr(item.address, 1, length(named)) = named
            AND (substr(named, length(named)) = '/'::bytea OR substr(item.address, length(named) + 1, 1) = '/'::bytea))
        """
      }
    }
    return (parts.joined(separator: " AND "), values)
  }
}

/// An item, as shown to people who look at the queue.
package struct QueuedItem: Sendable {
  package let id: Int64
  package let address: SourcePath
  package let version: String
  /// Its size in bytes; nil if unknown.
  package let size: Int64?
  package let state: ItemState
  package let wishes: ItemWishes
  package let priority: Int64
  package let attempts: Int64
  package let failures: Int64
  package let deaths: Int64
  package let enqueuedAt: Date
  package let changedAt: Date
  /// When it is to be tried.
  package let dueAt: Date?
  /// The worker that took it last, and when.
  package let takenBy: String?
  package let takenAt: Date?
  /// The code and message of its last failure, refusal or death.
  package let code: String?
  package let message: String?
  /// The policy by which it was decided.
  package let decidedBy: String?
  /// For a taken item: whether it is not to be tried again.
  package let isCancelled: Bool

  init(_ row: PostgresRow) throws {
    (id, version, size) = (try row["id"], try row["version"], try row["size"])
    address = SourcePath(bytes: try row["address"] as [UInt8])
    state = ItemState(rawValue: try row["state"]) ?? .failed
    wishes = ItemWishes(
      label: try row["label"], destination: try row["destination"], policy: try row["asked_policy"],
      author: try row["author"])
    (priority, attempts) = (try row["priority"], try row["attempts"])
    (failures, deaths) = (try row["failures"], try row["deaths"])
    enqueuedAt = Date(milliseconds: try row["enqueued_at"])
    changedAt = Date(milliseconds: try row["changed_at"])
    dueAt = (try row["due_at"] as Int64?).map { Date(milliseconds: $0) }
    (takenBy, code, message) = (try row["taken_by"], try row["code"], try row["message"])
    takenAt = (try row["taken_at"] as Int64?).map { Date(milliseconds: $0) }
    (decidedBy, isCancelled) = (try row["policy"], try row["is_cancelled"])
  }
}

/// Something that happened to an item.
package struct ItemHappening: Sendable {
  /// How often the item had been taken.
  package let attempt: Int64
  /// Nil if an operator did it.
  package let takenBy: String?
  package let takenAt: Date?
  package let at: Date
  /// The item's state afterwards.
  package let state: ItemState
  package let code: String?
  package let message: String?
  package let policy: String?
  /// When it was to be tried again.
  package let dueAt: Date?

  init(_ row: PostgresRow) throws {
    attempt = try row["attempt"]
    takenBy = try row["taken_by"]
    takenAt = (try row["taken_at"] as Int64?).map { Date(milliseconds: $0) }
    at = Date(milliseconds: try row["at"])
    state = ItemState(rawValue: try row["state"]) ?? .failed
    (code, message, policy) = (try row["code"], try row["message"], try row["policy"])
    dueAt = (try row["due_at"] as Int64?).map { Date(milliseconds: $0) }
  }
}

// MARK: Queries

extension WorkQueue {
  private static let joined = """
    reel.work JOIN reel.item ON item.id = work.item JOIN reel.lane ON lane.id = work.lane
    """

  /// Returns the next items of `filter`, in the order in which they were enqueued.
  /// - Parameter id: the last item of the previous page.
  package func items(
    _ filter: ItemFilter, after id: Int64 = 0, upTo count: Int
  ) throws(CatalogError) -> [QueuedItem] {
    let (condition, values) = filter.condition
    return try catalogErrors {
      try pool.read { db in
        try db.rows(
          """
          SELECT item.id, address, version, size, enqueued_at, state, priority, attempts, failures, deaths, changed_at,
            due_at, taken_by, taken_at, code, message, work.policy, is_cancelled, label, destination,
            lane.policy AS asked_policy, author
          FROM \(Self.joined) WHERE item.id > $\(values.count + 1) AND \(condition)
          ORDER BY item.id LIMIT $\(values.count + 2)
          """, values + [.int(id), .int(Int64(count))]
        ) { try QueuedItem($0) }
      }
    }
  }

  /// Returns the number of items that `filter` selects.
  package func count(_ filter: ItemFilter) throws(CatalogError) -> Int {
    let (condition, values) = filter.condition
    let count = try catalogErrors {
      try pool.read { db in
        try db.value("SELECT count(*) FROM \(Self.joined) WHERE \(condition)", values, as: Int.self)
      }
    }
    return count ?? 0
  }

  /// Returns what became of an item each time that it did not simply become a post; the oldest first.
  package func history(of item: Int64) throws(CatalogError) -> [ItemHappening] {
    try catalogErrors {
      try pool.read { db in
        try db.rows(
          """
          SELECT attempt, taken_by, taken_at, at, state, code, message, policy, due_at FROM reel.item_history
          WHERE item = $1 ORDER BY number
          """, [.int(item)]
        ) { try ItemHappening($0) }
      }
    }
  }
}

// MARK: Steering

/// What an operator does to items.
package enum Steering: Sendable {
  /// Puts items back that have ended, or wait for their time, as if they had never been tried.
  case retry
  /// Waiting items are not tried; taken ones are not tried again.
  case cancel
  case priority(Int)

  /// The states of items to which it can be done.
  package var states: [ItemState] {
    switch self {
    case .retry: [.later, .refused, .failed, .setAside, .cancelled]
    case .cancel, .priority: [.waiting, .taken, .later]
    }
  }

  private var changes: String {
    switch self {
    case .retry: WorkQueue.asNew
    case .cancel:
      """
      state = CASE state WHEN 1 THEN 1 ELSE 7 END, is_cancelled = true, due_at = NULL,
        changed_at = CASE state WHEN 1 THEN changed_at ELSE \(PostgresSchema.now) END
      """
    case .priority(let priority): "priority = \(priority)"
    }
  }

  private var told: String {
    switch self {
    case .retry: "put back by reel queue retry"
    case .cancel: "cancelled by reel queue cancel"
    case .priority(let priority): "given priority \(priority) by reel queue priority"
    }
  }

  /// Returns a statement that changes the first items of `condition`, and returns their number and the last one.
  fileprivate func statement(_ condition: String, upTo count: Int) -> String {
    """
    WITH meant AS MATERIALIZED (
      \(WorkQueue.locked(condition, upTo: count))
    ), changed AS (
      UPDATE reel.work SET \(changes) FROM meant WHERE work.item = meant.item RETURNING work.item, attempts, state
    ), told AS (
      INSERT INTO reel.item_history (item, attempt, at, state, message)
      SELECT item, attempts, \(PostgresSchema.now), state, '\(told)' FROM changed
    )
    SELECT count(*) AS count, max(item) AS last FROM changed
    """
  }
}

extension WorkQueue {
  /// Does `what` to the items that `filter` selects and whose state allows it, some thousands at a time. If it is
  /// interrupted, what was done stays done.
  /// - Returns: the number of these items.
  package func steer(_ what: Steering, _ filter: ItemFilter) throws(CatalogError) -> Int {
    var filter = filter
    filter.states = filter.states.map { $0.filter(what.states.contains) } ?? what.states
    let (condition, values) = filter.condition
    let further = "\(condition) AND work.item > $\(values.count + 1)"
    var (count, last) = (0, Int64(0))
    while true {
      let done = try steer(what, further, values + [.int(last)])
      count += done.count
      guard let next = done.last, done.count == Self.steeredAtOnce else { return count }
      last = next
    }
  }

  private static let steeredAtOnce = 5000

  /// Returns a query that finds the first items of `condition`, and locks them.
  fileprivate static func locked(_ condition: String, upTo count: Int) -> String {
    "SELECT work.item FROM \(joined) WHERE \(condition) ORDER BY work.item LIMIT \(count) FOR UPDATE OF work"
  }

  private func steer(
    _ what: Steering, _ condition: String, _ values: [PostgresValue]
  ) throws(CatalogError) -> (count: Int, last: Int64?) {
    var calls: [Int64] = []
    return try catalogErrors {
      try pool.transaction { tx in
        // An earlier attempt may have been committed, with its answer lost. The items' locks wait for its end; what it
        // has done is recognized by its transaction's number.
        if tx.mayBeDone {
          try tx.run(Self.locked(condition, upTo: Self.steeredAtOnce), values)
          let done = try tx.row(
            "SELECT count(*), max(item) FROM reel.item_history WHERE xmin::text::bigint = ANY($1)",
            [.ints(calls)]
          ) { (count: try $0[0] as Int, last: try $0[1] as Int64?) }
          if let done, done.count > 0 { return done }
        }
        if let call: Int64 = try tx.value(Self.callNumber) { calls.append(call) }
        let done = try tx.row(what.statement(condition, upTo: Self.steeredAtOnce), values) {
          (count: try $0["count"] as Int, last: try $0["last"] as Int64?)
        }
        if case .retry = what { try Self.notify(tx, of: done?.count ?? 0) }
        return done ?? (0, nil)
      }
    }
  }

  /// What holds items of a label back.
  package struct Throttle: Sendable {
    /// Nil for items of any label.
    package let label: String?
    package let pausedSince: Date?
    /// How many may be taken at once; nil for any number.
    package let most: Int64?

    package init(label: String?, pausedSince: Date?, most: Int64?) {
      (self.label, self.pausedSince, self.most) = (label, pausedSince, most)
    }
  }

  /// Returns what holds items back now.
  package func throttles() throws(CatalogError) -> [Throttle] {
    try catalogErrors { try pool.read { db in try Self.throttles(db) } }
  }

  static func throttles(_ db: PostgresConnection) throws -> [Throttle] {
    try db.rows("SELECT label, paused_at, most FROM reel.throttle ORDER BY label") { row in
      let label: String = try row["label"]
      return Throttle(
        label: label == QueueLabel.all ? nil : label,
        pausedSince: (try row["paused_at"] as Int64?).map { Date(milliseconds: $0) }, most: try row["most"])
    }
  }

  /// Stops the taking of items of `label`, or of any. Items that are taken are finished.
  package func pause(_ label: String?) throws(CatalogError) {
    try setThrottle(label, "paused_at", to: PostgresSchema.now, isFirst: true)
  }

  /// Ends a pause.
  package func resume(_ label: String?) throws(CatalogError) {
    try setThrottle(label, "paused_at", to: "NULL")
  }

  /// Sets how many items of `label`, or of all, may be taken at once; nil for any number.
  package func limit(_ label: String?, to most: Int?) throws(CatalogError) {
    try setThrottle(label, "most", to: most.map { "\(max(0, $0))" } ?? "NULL")
  }

  /// Inserts or updates the row in one statement, because another process may just be about to remove it.
  /// - Parameter isFirst: whether an existing value stays.
  private func setThrottle(
    _ label: String?, _ column: String, to value: String, isFirst: Bool = false
  ) throws(CatalogError) {
    let new = isFirst ? "coalesce(throttle.\(column), excluded.\(column))" : "excluded.\(column)"
    try catalogErrors {
      try pool.transaction { tx in
        let label = PostgresValue.text(label ?? QueueLabel.all)
        try tx.run(
          """
          INSERT INTO reel.throttle (label, \(column)) VALUES ($1, \(value))
          ON CONFLICT (label) DO UPDATE SET \(column) = \(new)
          """, [label])
        try tx.run(
          "DELETE FROM reel.throttle WHERE label = $1 AND paused_at IS NULL AND most IS NULL", [label])
        // Waiting workers may have more to take now.
        _ = try tx.row("SELECT pg_notify($1, '1 0')", [.text(Self.channel)]) { _ in true }
      }
    }
  }

  /// Forgets items that ended longer than `age` ago, with their history. An item that was done would be enqueued again
  /// if it is listed again, and then found to be a post already.
  /// - Returns: the number of these items.
  package func prune(
    _ filter: ItemFilter, endedBefore age: Duration, dryRun: Bool = false
  ) throws(CatalogError) -> Int {
    let (condition, given) = filter.condition
    let old = "\(condition) AND state > 2 AND changed_at < \(PostgresSchema.now) - $\(given.count + 1)"
    let values = given + [.int(Int64(min(age / .milliseconds(1), 1e15)))]
    if dryRun {
      return try catalogErrors {
        try pool.read { db in
          try db.value("SELECT count(*) FROM \(Self.joined) WHERE \(old)", values, as: Int.self) ?? 0
        }
      }
    }
    var count = 0
    while true {
      let some = try pruneSome(old, values)
      count += some
      if some == 0 { break }
    }
    try removeUnusedLanes()
    return count
  }

  /// Forgets up to a thousand items of `condition`.
  private func pruneSome(_ condition: String, _ values: [PostgresValue]) throws(CatalogError) -> Int {
    var meant: [Int64] = []
    return try catalogErrors {
      try pool.transaction { tx in
        // An earlier attempt may have been committed, with its answer lost. The items' locks wait for its end; then the
        // items are there, or gone.
        if tx.mayBeDone {
          let left = try tx.run(
            "SELECT FROM reel.work WHERE item = ANY($1) ORDER BY item FOR UPDATE", [.ints(meant)])
          if left < meant.count { return meant.count - left }
        }
        meant = try tx.rows(
          """
          SELECT work.item FROM \(Self.joined) WHERE \(condition) ORDER BY changed_at LIMIT 1000
          FOR UPDATE OF work SKIP LOCKED
          """, values
        ) { try $0[0] }
        try tx.run(
          """
          WITH gone AS (DELETE FROM reel.work WHERE item = ANY($1)
          ), told AS (DELETE FROM reel.item_history WHERE item = ANY($1))
          DELETE FROM reel.item WHERE id = ANY($1)
          """, [.ints(meant)])
        return meant.count
      }
    }
  }

  /// Returns when the first of the items that `filter` selects ended; nil if none has.
  package func firstEnd(_ filter: ItemFilter) throws(CatalogError) -> Date? {
    let (condition, values) = filter.condition
    let moment = try catalogErrors {
      try pool.read { db in
        try db.value(
          "SELECT min(changed_at) FROM \(Self.joined) WHERE \(condition) AND state > 2", values,
          as: Int64.self)
      }
    }
    return moment.map { Date(milliseconds: $0) }
  }

  /// Removes lanes without items. A lane is added again when an item needs it.
  private func removeUnusedLanes() throws(CatalogError) {
    try catalogErrors {
      try pool.transaction { tx in
        // A process that is just enqueuing may be about to use one.
        let isFree: Bool? = try tx.value("SELECT pg_try_advisory_xact_lock(\(PostgresSchema.laneLock))")
        guard isFree == true else { return }
        try tx.run(
          "DELETE FROM reel.lane WHERE id <> 0 AND NOT EXISTS (SELECT FROM reel.work WHERE work.lane = lane.id)"
        )
      }
    }
  }
}

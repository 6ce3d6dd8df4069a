import Glibc
import ReelCore
import Synchronization

/// A process that takes items: a row that depends on the process's lease (``PostgresOwner``). Once the lease is over,
/// what it has taken is free again, and what it reports of such an item is ignored. Every call blocks.
package final class QueueWorker: Sendable {
  /// How items are handled.
  package struct Settings: Sendable {
    /// The number of workers that may die with an item alone in their hands; with the last of them it is set aside.
    package var mostDeaths = 3
    /// The number of failures with which an item has failed for good, even if the reasons may pass.
    package var mostFailures = 4
    /// The pause before it is tried again after its first such failure. Each further pause is four times as long.
    package var pause = Duration.seconds(30)

    package init() {}
  }

  /// Which items a worker takes: those that request nothing but what it has.
  package struct Serving: Sendable {
    /// The labels of its items; empty for any.
    package var labels: [String] = []
    /// The policy that it has of its own; nil if items may name any.
    package var policy: String?

    package init(labels: [String] = [], policy: String? = nil) {
      (self.labels, self.policy) = (labels, policy)
    }
  }

  private let queue: WorkQueue
  private let owner: PostgresOwner
  private let settings: Settings
  private let host: String
  private let destination: String
  private let serving: Serving
  private let clock: @Sendable () -> ContinuousClock.Instant
  private let memory: Mutex<WorkerMemory>
  /// Held while the worker is registered.
  private let registering = Mutex(())

  /// Registers the worker, as a part of the process that has opened the catalog, whose
  /// heartbeat is the worker's from now on.
  /// - Parameters:
  ///   - host: the machine, as `reel status` names it.
  ///   - destination: where it stores, for items that name a store, and for `reel status`.
  package convenience init(
    _ catalog: PostgresCatalog, host: String, destination: String, serving: Serving = Serving(),
    settings: Settings = Settings()
  ) throws(CatalogError) {
    try self.init(
      try catalog.workQueue(), try catalog.writable().owner, host: host, destination: destination,
      serving: serving, settings: settings, clock: { .now })
  }

  /// Registers a worker that is a process of its own, and alive as long as ``renew()`` is called; for tests.
  package convenience init(
    _ queue: WorkQueue, host: String, destination: String, serving: Serving = Serving(),
    settings: Settings = Settings(), lease: Duration = LeaseTerms.server,
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) throws(CatalogError) {
    let owner = try queue.catalogErrors {
      try PostgresOwner(queue.pool, name: host, host: host, lease: lease)
    }
    try self.init(
      queue, owner, host: host, destination: destination, serving: serving, settings: settings, clock: clock)
  }

  private init(
    _ queue: WorkQueue, _ owner: PostgresOwner, host: String, destination: String, serving: Serving,
    settings: Settings, clock: @escaping @Sendable () -> ContinuousClock.Instant
  ) throws(CatalogError) {
    (self.queue, self.owner, self.settings) = (queue, owner, settings)
    (self.host, self.destination, self.serving, self.clock) = (host, destination, serving, clock)
    memory = Mutex(WorkerMemory(at: clock()))
    try register(inPlaceOf: 0)
    owner.takesItems { [weak self] in
      try self?.beat()
      return self != nil
    }
  }

  /// The items that it has taken and not reported on yet.
  package var held: Set<Int64> { memory.withLock { Set($0.held.keys) } }

  /// Inserts the worker's row, unless another thread has done so meanwhile: what has
  /// been taken since belongs to that row.
  /// - Parameter old: its row, which others have deleted; 0 if there was none yet.
  private func register(inPlaceOf old: Int64) throws(CatalogError) {
    try registering.withLock { _ throws(CatalogError) in
      guard memory.withLock({ $0.worker == old }) else { return }
      let id: Int64? = try queue.catalogErrors {
        // Not as one statement: that could reach the server late, and delete the row of a later attempt, under which
        // items have been taken.
        try queue.pool.transaction { tx in
          try tx.value(
            """
            -- Of an earlier attempt that nobody heard of.
            WITH gone AS (DELETE FROM reel.worker WHERE owner = $5)
            INSERT INTO reel.worker (host, pid, destination, started_at, lease_until, lease, hands, owner,
              knows, labels, policy)
            VALUES ($1, $2, $3, \(PostgresSchema.now), \(PostgresSchema.now) + $4, $4, '{}', $5,
              $6, nullif($7::text[], '{}'), $8) RETURNING id
            """,
            [
              .text(host), .int(Int64(getpid())), .text(destination), .int(lease), .int(owner.id),
              .int(Int64(PostgresSchema.version)), .texts(serving.labels), .text(serving.policy),
            ])
        }
      }
      // Others may have deleted its owner, too: then what it claims from now on would belong to a dead process.
      try queue.catalogErrors { try owner.renew() }
      memory.withLock { $0.isWrittenDown(as: id ?? 0, at: clock()) }
    }
  }

  private var lease: Int64 { Int64(owner.lease / .milliseconds(1)) }

  /// An expression that limits a number in a row to what arithmetic can bear: anyone who can write to the queue may
  /// have written any number.
  private static func bounded(_ column: String) -> String {
    "least(greatest(\(column), 0), 1000000000000000)"
  }

  // MARK: Taking

  /// Takes up to `count` items, the most urgent and oldest first. An item in question, because a worker died that had
  /// it in hand, is taken alone.
  package func take(upTo count: Int) throws(CatalogError) -> [TakenItem] {
    let now = clock()
    guard var look = memory.withLock({ $0.look(at: now) }) else { return [] }
    let taking: WorkerMemory.Taking? = try queue.catalogErrors {
      var taking = try next(count, look)
      while let found = taking, let further = look.next(after: found) {
        look = further
        taking = try next(count, look)
      }
      return taking
    }
    guard let taking else {
      // Others found the lease over, and have what it held.
      try register(inPlaceOf: look.worker)
      return []
    }
    memory.withLock { $0.took(taking, at: look, now) }
    return taking.items
  }

  private func isRegistered(_ tx: PostgresTransaction, _ id: Int64) throws -> Bool {
    try tx.value("SELECT id FROM reel.worker WHERE id = $1 FOR NO KEY UPDATE", [.int(id)], as: Int64.self)
      != nil
  }

  /// - Returns: nil if others have found the lease over.
  private func next(_ count: Int, _ look: WorkerMemory.Look) throws -> WorkerMemory.Taking? {
    // Not as one statement: that could reach the server late, after this has been tried again, and
    // nothing would know what it takes then.
    try queue.pool.transaction { tx in
      if tx.mayBeDone {
        // An earlier attempt may have been committed, with its answer lost. This waits for its end.
        guard try isRegistered(tx, look.worker) else { return nil }
        let lost = try held(by: look.worker, but: look.known, tx)
        if !lost.isEmpty { return WorkerMemory.Taking(items: lost) }
      }
      let first = try next(count, look, tx)
      guard let first else { return nil }
      if first.isLimited {
        // Under limits, workers take one after the other, so that each sees what the others have taken.
        try tx.run("SELECT FROM reel.throttle WHERE most IS NOT NULL ORDER BY label FOR UPDATE")
        var whole = look
        whole.place = nil
        return try next(count, whole, order: .underLimits, tx)
      }
      // Other workers are taking those whose turn it was.
      guard first.items.isEmpty, !first.passedBy, first.lanes > 1, !look.isForOne else { return first }
      return try next(count, look, order: .any, tx)
    }
  }

  /// The order in which items are taken if several lanes have some that wait.
  private enum TakingOrder {
    case turns
    /// In turns, while no other worker takes any.
    case underLimits
    /// By priority and number alone, of those that are not locked.
    case any
  }

  /// - Returns: nil if others have found the lease over.
  private func next(
    _ count: Int, _ look: WorkerMemory.Look, order: TakingOrder = .turns, _ tx: PostgresTransaction
  ) throws -> WorkerMemory.Taking? {
    var values: [PostgresValue] = [
      .int(look.worker), .int(look.isForOne ? 1 : Int64(count)), .bool(look.isForOne),
    ]
    if let place = look.place { values += [.int(place.lane), .int(place.priority), .int(place.item)] }
    // Rows are found by their place in the table, which does not change while they are locked. The worker's row is
    // locked, too, so that whoever would free what it holds waits until this is visible. Before the place where the
    // last look ended, the index is full of items that were taken since the server last cleaned up.
    let rows = try tx.rows(
      """
      WITH RECURSIVE me AS MATERIALIZED (
        SELECT * FROM reel.worker WHERE id = $1 FOR NO KEY UPDATE
      ), \(Self.shares(behind: look.place != nil, order)), next AS MATERIALIZED (
        \(order == .any ? Self.someOfAll : """
          SELECT found.place, found.alone FROM share CROSS JOIN LATERAL (
            SELECT ctid AS place, \(Self.isInQuestion) AS alone FROM reel.work
            WHERE state = 0 AND lane = share.lane \(look.place == nil ? "" : Self.isBehind)
            ORDER BY priority DESC, item LIMIT share.quota FOR UPDATE SKIP LOCKED
          ) AS found
          """)
      ), taken AS (
        UPDATE reel.work SET state = 1, worker = me.id, attempts = \(Self.bounded("attempts")) + 1, changed_at = \(PostgresSchema.now),
          taken_at = \(PostgresSchema.now), taken_by = me.host || ', process ' || me.pid
        FROM me, next WHERE work.ctid = next.place AND ($3 OR NOT next.alone)
        RETURNING work.item, work.priority, work.deaths, work.failures, work.attempts, work.code, work.lane
      )
      SELECT taken.*, address, version, size, label, lane.policy, author,
        NOT $3 AND (SELECT coalesce(bool_or(alone), false) FROM next) AS passed_by,
        limited.is_so, (SELECT count(*) FROM filled) AS lanes
      FROM me CROSS JOIN limited
        LEFT JOIN (taken JOIN reel.item ON item.id = taken.item JOIN reel.lane ON lane.id = taken.lane) ON true
      """, values
    ) { row in
      WorkerMemory.Taking(
        items: try row["item"] as Int64? == nil ? [] : [try TakenItem(row)], passedBy: try row["passed_by"],
        isLimited: try row["is_so"] as Bool && order != .underLimits, lanes: try row["lanes"])
    }
    guard var taking = rows.first else { return nil }
    taking.items = rows.flatMap(\.items).sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
    return taking
  }

  /// SQL for the lanes with waiting items, as `waiting`: one step in the index for
  /// each lane, however many items there are.
  private static func waitingLanes(where condition: String = "true") -> String {
    """
    waiting (lane) AS (
      (SELECT lane FROM reel.work WHERE state = 0 AND \(condition) ORDER BY lane LIMIT 1)
      UNION ALL
      SELECT (SELECT work.lane FROM reel.work WHERE state = 0 AND work.lane > waiting.lane ORDER BY work.lane LIMIT 1)
      FROM waiting WHERE waiting.lane IS NOT NULL
    )
    """
  }

  /// SQL for how many items to take from which lanes, as `share`. The most urgent come first; at equal
  /// priority, the labels take turns, whichever has waited longer. If there is only one lane, as is usual, it
  /// is looked at just once. If so many labels wait that each has one turn at most, one item of each lane is
  /// looked at, and none that is less urgent.
  private static func shares(behind: Bool, _ order: TakingOrder) -> String {
    let isLimited = order == .underLimits
    let first = """
      SELECT priority, item, \(isInQuestion) AS alone FROM reel.work
      WHERE state = 0 AND work.lane = share.lane \(behind ? isBehind : "") ORDER BY priority DESC, item
      """
    let room = """
      (SELECT most FROM reel.throttle WHERE throttle.label = lane.label)
        - coalesce((SELECT count FROM busy WHERE busy.label = lane.label), 0)
      """
    let wholeRoom = """
      greatest(0, least($2, (SELECT most FROM reel.throttle WHERE label = '*')
        - (SELECT coalesce(sum(count), 0) FROM busy)))
      """
    let several = "(SELECT count(*) FROM filled) > 1"
    return """
      limited AS MATERIALIZED (
        SELECT EXISTS (SELECT FROM reel.throttle WHERE most IS NOT NULL) AS is_so, (random() * 1e15)::bigint AS seed
      ), \(waitingLanes(where: isLimited ? "true" : "NOT (SELECT is_so FROM limited)")), busy AS MATERIALIZED (
        SELECT label, count(*) AS count FROM reel.work JOIN reel.lane ON lane.id = work.lane
        WHERE state = 1 AND \(isLimited) GROUP BY label
      ), mine AS MATERIALIZED (
        SELECT lane.id AS lane, lane.label, hashtextextended(lane.label, seed) AS draw,
          \(isLimited ? room : "NULL::bigint") AS room
        FROM me CROSS JOIN limited CROSS JOIN \(behind ? "reel.lane" : "waiting JOIN reel.lane ON lane.id = waiting.lane")
        WHERE \(takes) \(behind ? "AND lane.id = $4" : "") \(isLimited ? "" : "AND NOT limited.is_so")
      ), filled AS MATERIALIZED (
        SELECT share.*, head.priority, head.item, head.alone FROM mine AS share CROSS JOIN LATERAL (\(first) LIMIT 1) AS head
        WHERE room IS NULL OR room > 0
      ), front AS MATERIALIZED (
        -- The priority of the last one of which there is a turn each; null where there are fewer labels.
        SELECT max(priority) AS priority FROM filled GROUP BY label ORDER BY 1 DESC LIMIT 1 OFFSET greatest($2 - 1, 0)
      ), chosen AS (
        SELECT lane FROM (
          SELECT share.lane, seen.priority, seen.alone, room, draw,
            row_number() OVER (PARTITION BY label, seen.priority ORDER BY seen.item) AS turn,
            row_number() OVER (PARTITION BY label ORDER BY seen.priority DESC, seen.item) AS place
          FROM filled AS share LEFT JOIN front ON true CROSS JOIN LATERAL (
            SELECT share.priority, share.item, share.alone UNION ALL (
              \(first) OFFSET 1 LIMIT CASE WHEN front.priority = (SELECT max(priority) FROM filled) THEN 0 ELSE greatest($2 - 1, 0) END)
          ) AS seen
          WHERE (front.priority IS NULL OR share.priority >= front.priority OR share.alone)
            \(isLimited ? "" : "AND \(several)")
        ) AS turns
        WHERE room IS NULL OR place <= room
        -- Who takes one alone takes what was passed by before.
        ORDER BY ($3 AND alone) DESC, priority DESC, turn, draw LIMIT \(isLimited ? wholeRoom : "$2")
      ), share AS MATERIALIZED (
        \(order == .any ? "SELECT filled.*, 1 + 16 * $2 / (SELECT count(*) FROM filled) AS quota FROM filled" : """
          SELECT filled.*, quota FROM filled JOIN (SELECT lane, count(*) AS quota FROM chosen GROUP BY lane) AS counted USING (lane)
          \(isLimited ? "" : "UNION ALL SELECT filled.*, $2 FROM filled WHERE NOT \(several)")
          """)
      )
      """
  }

  /// SQL for the most urgent items of all lanes that are not locked. Only as many as are taken get locked, so that
  /// others find the rest. Among sixteen times as many, there are enough beside those that others are just taking.
  private static let someOfAll = """
    SELECT work.ctid AS place, \(isInQuestion) AS alone
    FROM share CROSS JOIN LATERAL (
      SELECT item AS number FROM reel.work WHERE state = 0 AND lane = share.lane ORDER BY priority DESC, item LIMIT share.quota
    ) AS seen JOIN reel.work ON work.item = seen.number
    WHERE state = 0 ORDER BY work.priority DESC, work.item LIMIT $2 FOR UPDATE OF work SKIP LOCKED
    """

  /// SQL for what is after the place where the last look ended.
  private static let isBehind = "AND priority = $5 AND item > $6"

  /// A condition, with the worker's row as `me`: whether the worker may take items of a lane at all.
  static let serves = """
    (lane.destination IS NULL OR lane.destination = me.destination)
    AND (lane.policy IS NULL OR me.policy IS NULL OR lane.policy = me.policy)
    AND (me.labels IS NULL OR lane.label = ANY(me.labels))
    """

  /// A condition, with the worker's row as `me`: whether the worker may take items of a lane now.
  static let takes = """
    \(serves)
    AND NOT EXISTS (
      SELECT FROM reel.throttle WHERE throttle.label IN (lane.label, '*') AND paused_at IS NOT NULL)
    """

  /// Returns the items that the worker holds by the tables, except for those that it knows of.
  private func held(by id: Int64, but known: [Int64: Int64], _ tx: PostgresTransaction) throws -> [TakenItem]
  {
    try tx.rows(
      """
      SELECT work.item, priority, deaths, failures, attempts, code, address, version, size, lane, label, lane.policy, author
      FROM reel.work JOIN reel.item ON item.id = work.item JOIN reel.lane ON lane.id = work.lane
      WHERE worker = $1 AND state = 1
        AND NOT (work.item, attempts) IN (SELECT * FROM unnest($2::bigint[], $3::bigint[]))
      ORDER BY priority DESC, work.item
      """, [.int(id), .ints(Array(known.keys)), .ints(Array(known.values))]
    ) { try TakenItem($0) }
  }

  /// A condition for ``TakenItem/isInQuestion``.
  private static let isInQuestion = "(deaths <> 0 OR coalesce(code = '\(DeathVerdict.code)', false))"

  /// Records which items are being worked on from now on. Should the worker die, only these are in question, not the
  /// others that it holds.
  package func begin(_ items: [Int64]) throws(CatalogError) {
    let id = memory.withLock { $0.worker }
    try queue.catalogErrors {
      try queue.pool.transaction(ofOneStatement: true) { tx in
        try tx.run("UPDATE reel.worker SET hands = $2 WHERE id = $1", [.int(id), .ints(items)])
      }
    }
  }

  /// Whether the item is tried again if it fails for a reason that may pass.
  package func hasTriesLeft(_ item: TakenItem) -> Bool { item.failures < settings.mostFailures - 1 }

  // MARK: Finishing

  /// Records what became of items and, in the same transaction, why: what `reel status` shows of their files. An item
  /// that is no longer this worker's, because its lease was over, is left as it is: another worker has it.
  /// - Parameter delivered: the page numbers of posts whose events have been delivered. An item that is done is not
  ///   listed again, so no later run would come across its video and find that out.
  package func finish(_ outcomes: [ItemOutcome], delivered: [Int] = []) throws(CatalogError) {
    let (id, held) = memory.withLock { ($0.worker, $0.held) }
    let rows = outcomes.compactMap { one in held[one.item].map { Row(one, of: $0, on: owner.host) } }
    if rows.isEmpty { return }
    let back = rows.count { $0.state == ItemState.waiting.rawValue }
    let isOne = back == 0 && rows.allSatisfy { $0.attempts <= Self.mostHistory }
    try queue.catalogErrors {
      if isOne {
        try queue.pool.transaction(ofOneStatement: true) { tx in try finish(rows, delivered, by: id, tx) }
      } else {
        try queue.pool.transaction { tx in
          try finish(rows, delivered, by: id, tx)
          try WorkQueue.notify(tx, of: back)
        }
      }
    }
    memory.withLock { $0.isSaid(of: rows.map { ($0.item, $0.attempts) }, as: id) }
  }

  private func finish(
    _ rows: [Row], _ delivered: [Int], by id: Int64, _ tx: PostgresTransaction
  ) throws {
    let failures = Self.bounded("work.failures")
    try tx.run(
      """
      WITH said AS (
        SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $8::bigint[], $9::bigint[], $10::text[],
          $11::bytea[]) WITH ORDINALITY AS e(item, state, code, message, counted, attempts, host, path, place)
      ), ended AS (
        UPDATE reel.work SET
          state = CASE WHEN said.state = 2 AND \(failures) + counted >= $6 THEN 5 ELSE said.state END,
          worker = NULL, changed_at = \(PostgresSchema.now), failures = \(failures) + counted,
          due_at = CASE WHEN said.state = 2 AND \(failures) + counted < $6
            THEN \(PostgresSchema.now) + least($7 * (4 ^ least(\(failures), 15))::bigint, \(Self.longestPause)) END,
          code = coalesce(said.code, work.code), message = coalesce(said.message, work.message),
          policy = CASE WHEN said.state > 2
            THEN coalesce((SELECT policy FROM reel.lane WHERE id = work.lane), $12) ELSE work.policy END
        -- By the number of the taking: it may have been given back and taken again since.
        FROM said WHERE work.item = said.item AND work.worker = $1 AND work.state = 1
          AND work.attempts = said.attempts
        RETURNING work.item, work.attempts, taken_by, taken_at, changed_at, work.state, said.code AS said_code,
          said.message AS said_message, policy, due_at, work.code, work.message, host, path, place
      ), told AS (
        INSERT INTO reel.item_history (item, attempt, taken_by, taken_at, at, state, code, message, policy, due_at)
        SELECT item, attempts, taken_by, taken_at, changed_at, state, said_code, said_message, policy, due_at FROM ended
        WHERE state <> \(ItemState.done.rawValue)
      ), why AS (
        -- An item that succeeds takes back what was said of it, also before it was put back; of two states of one file, the last
        -- counts.
        SELECT DISTINCT ON (host, path) * FROM ended
        WHERE state > 0 AND code IS NOT NULL OR state = \(ItemState.done.rawValue) AND attempts > 1
        ORDER BY host, path, place DESC
      ), noted AS (
        INSERT INTO reel.failure (host, path, code, message, refused, at)
        SELECT host, path, code, coalesce(message, ''), state = 4, \(PostgresSchema.now) FROM why WHERE state <> 3
        ON CONFLICT (host, path_digest) DO UPDATE SET code = excluded.code, message = excluded.message,
          refused = excluded.refused, at = excluded.at
      ), taken_back AS (
        DELETE FROM reel.failure USING why
        WHERE why.state = 3 AND failure.host = why.host AND failure.path_digest = sha256(why.path)
      ), delivered AS (
        DELETE FROM reel.outbox WHERE page_number = ANY($13::bigint[])
      ), woken AS (
        -- Under limits there may be room for others now.
        SELECT pg_notify('\(WorkQueue.channel)', '1 0') FROM reel.throttle WHERE most IS NOT NULL LIMIT 1
      )
      UPDATE reel.worker SET
        finished = \(Self.bounded("finished")) + (SELECT count(*) FROM ended WHERE state > \(ItemState.later.rawValue)),
        failed = \(Self.bounded("failed")) + (SELECT count(*) FROM ended WHERE state > \(ItemState.done.rawValue)),
        hands = ARRAY(SELECT hand FROM unnest(hands) WITH ORDINALITY AS h(hand, place)
          WHERE NOT hand IN (SELECT item FROM ended) ORDER BY place)
      WHERE id = $1 AND (SELECT count(*) FROM woken) >= 0
      """,
      [
        .int(id), .ints(rows.map(\.item)), .ints(rows.map(\.state)), .texts(rows.map(\.code)),
        .texts(rows.map(\.message)), .int(Int64(settings.mostFailures)),
        .int(Int64(settings.pause / .milliseconds(1))), .ints(rows.map(\.counted)),
        .ints(rows.map(\.attempts)), .texts(rows.map(\.host)), .byteStrings(rows.map(\.path)),
        .text(serving.policy ?? QueuePolicy.standard), .ints(delivered.map { Int64($0) }),
      ])
    // Items may be put off and given back without end, so their old history is removed.
    let old = rows.filter { $0.attempts > Self.mostHistory }.map(\.item)
    guard !old.isEmpty else { return }
    try tx.run(
      """
      DELETE FROM reel.item_history USING reel.work
      WHERE item_history.item = ANY($1) AND work.item = item_history.item AND attempt <= attempts - $2
      """, [.ints(old), .int(Self.mostHistory)])
  }

  /// A day, in milliseconds: the longest pause before a retry.
  private static let longestPause = 86_400_000
  /// The number of attempts of an item that are remembered.
  private static let mostHistory: Int64 = 100

  /// An outcome, as the columns that it changes.
  struct Row {
    let item: Int64
    let state: Int64
    let code: String?
    let message: String?
    let attempts: Int64
    /// The key of its file in the table of failures.
    let host: String
    let path: [UInt8]
    /// 1 for a failure that counts towards `mostFailures`, else 0.
    let counted: Int64

    /// - Parameter host: the machine to which the paths of files belong.
    init(_ outcome: ItemOutcome, of taken: TakenItem, on host: String) {
      (item, attempts) = (outcome.item, taken.attempts)
      (self.host, path) = (PostgresNotes.host(taken.address, here: host), taken.address.bytes)
      let (state, code, message): (ItemState, String?, String?) =
        switch outcome.ending {
        case .done: (.done, nil, nil)
        case .refused(let code, let message): (.refused, code, message)
        case .failed(let code, let message): (.failed, code, message)
        case .failedForNow(let code, let message): (.later, code, message)
        case .putOff(let code, let message): (.later, code, message)
        case .givenBack: (.waiting, nil, nil)
        }
      counted =
        switch outcome.ending {
        case .failed, .failedForNow: 1
        default: 0
        }
      (self.state, self.code, self.message) = (state.rawValue, code, message)
    }
  }

  // MARK: Heartbeat

  /// Extends the lease.
  /// - Returns: false if others have found it over. Then nothing that was held is this worker's any more.
  @discardableResult
  package func renew() throws(CatalogError) -> Bool {
    try signOfLife().isWorkerThere
  }

  /// Renews the lease, and frees what is due.
  private func beat() throws(CatalogError) {
    if try signOfLife().isAnythingDue { try free() }
  }

  private func signOfLife() throws(CatalogError) -> PostgresOwner.Life {
    let id = memory.withLock { $0.worker }
    let life = try queue.catalogErrors { try owner.renew(id) }
    memory.withLock { $0.isHeard(at: clock(), lease: owner.lease) }
    if !life.isWorkerThere { try register(inPlaceOf: id) }
    return life
  }

  /// A condition: whether there is something for ``free()`` to do. Usually there is nothing, and this check costs the
  /// server no transaction.
  static let isAnythingDue = """
    (EXISTS (SELECT FROM reel.work WHERE state = 2 AND due_at <= \(PostgresSchema.now))
      OR EXISTS (SELECT FROM reel.worker WHERE \(PostgresSchema.endOfWorkersLease) <= \(PostgresSchema.now)))
    """

  /// Frees what dead workers had taken, and what is due to be tried again.
  ///
  /// ``DeathVerdict`` decides what that means for each item. If this worker was itself not heard
  /// of during that time, it accuses none.
  /// - Returns: the number of items that are free again.
  @discardableResult
  package func freeWhatIsDue() throws(CatalogError) -> Int {
    let isDue = try queue.catalogErrors {
      try owner.heart.read(for: .steps) { db in try db.value("SELECT \(Self.isAnythingDue)", as: Bool.self) }
    }
    return isDue == true ? try free() : 0
  }

  @discardableResult
  private func free() throws(CatalogError) -> Int {
    try queue.catalogErrors {
      try owner.heart.transaction { tx in
        var count = try tx.run(
          """
          WITH due AS (
            SELECT item FROM reel.work WHERE state = 2 AND due_at <= \(PostgresSchema.now)
            ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED
          )
          UPDATE reel.work SET state = 0, changed_at = greatest(changed_at, due_at), due_at = NULL FROM due WHERE work.item = due.item
          """)
        try notesThoseThatWentSilentTogether(tx)
        count += try strikeOutTheDead(tx)
        try WorkQueue.notify(tx, of: count)
        return count
      }
    }
  }

  /// Deletes dead processes from the queue and the catalog alike, so that what they held in
  /// either is free from the same moment on.
  ///
  /// The row among the owners is locked first: a heartbeat that comes meanwhile waits, and finds that the
  /// process holds nothing. A process that is just taking or finishing something, and has its worker's
  /// row locked, is left to the next look.
  private func strikeOutTheDead(_ tx: PostgresTransaction) throws -> Int {
    var count = 0
    let owners = try tx.rows(
      """
      SELECT id FROM reel.owner WHERE lease_until <= \(PostgresSchema.now)
        AND EXISTS (SELECT FROM reel.worker WHERE worker.owner = owner.id)
      ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
      """
    ) { try $0[0] as Int64 }
    for owner in owners {
      let workers = try lockedWorkers("owner = $1", [.int(owner)], tx)
      if workers.isEmpty { continue }
      for worker in workers { count += try free(from: worker, tx) }
      try PostgresOwner.strike(owner, in: tx)
    }
    // Workers of an older Reel, and those whose owners are gone.
    let others = """
      lease_until <= \(PostgresSchema.now)
      AND NOT EXISTS (SELECT FROM reel.owner WHERE owner.id = worker.owner)
      """
    for worker in try lockedWorkers(others, [], tx) { count += try free(from: worker, tx) }
    return count
  }

  private func lockedWorkers(
    _ condition: String, _ values: [PostgresValue], _ tx: PostgresTransaction
  ) throws -> [Int64] {
    try tx.rows(
      "SELECT id FROM reel.worker WHERE \(condition) ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED", values
    ) { try $0[0] as Int64 }
  }

  private func free(from worker: Int64, _ tx: PostgresTransaction) throws -> Int {
    let held = try tx.rows(Self.estate, [.int(worker)]) {
      try Inheritance($0, mostDeaths: settings.mostDeaths)
    }
    let count = try tx.run(
      """
      WITH free AS (
        UPDATE reel.work SET worker = NULL, changed_at = \(PostgresSchema.now), deaths = said.deaths,
          state = said.state,
          code = coalesce(said.code, work.code), message = coalesce(said.message, work.message)
        FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
          AS said(item, state, deaths, code, message)
        WHERE work.item = said.item AND work.worker = $1 AND work.state = 1
        RETURNING work.item, attempts, taken_by, taken_at, changed_at, work.state, said.code, said.message
      )
      INSERT INTO reel.item_history (item, attempt, taken_by, taken_at, at, state, code, message) SELECT * FROM free
      """,
      [
        .int(worker), .ints(held.map(\.item)), .ints(held.map(\.state.rawValue)), .ints(held.map(\.deaths)),
        .texts(held.map(\.code)), .texts(held.map(\.message)),
      ])
    try tx.run("DELETE FROM reel.worker WHERE id = $1", [.int(worker)])
    return count
  }

  /// An item that a dead worker held, and what becomes of it.
  private struct Inheritance {
    let item: Int64
    let state: ItemState
    let deaths: Int64
    let code: String?
    let message: String?

    init(_ row: PostgresRow, mostDeaths: Int) throws {
      item = try row["item"]
      let before: Int64 = try row["deaths"]
      let verdict = DeathVerdict.decide(
        DeathVerdict.Facts(
          wasInHand: try row["in_hand"], wasAlone: try row["alone"],
          wasServerAway: try row["server_was_away"],
          fellSilentTogether: try row["together"], isInQuestion: try row["in_question"], deaths: Int(before)),
        mostDeaths: mostDeaths)
      state = verdict == .setAside ? .setAside : .waiting
      deaths = [.counted, .setAside].contains(verdict) ? before + 1 : before
      let death = try row["death"] as String
      switch verdict {
      case .innocent: (code, message) = (nil, nil)
      case .inQuestion:
        (code, message) = (DeathVerdict.code, death + "; this item may be the cause, and is retried alone")
      case .counted, .setAside: (code, message) = (DeathVerdict.code, death)
      }
    }
  }

  /// A query for what a dead worker held. A worker that does not say what it has in hand (an older Reel) may have
  /// everything in hand. The start of the server, or the end of its time as a standby, counts as the end of an outage.
  private static let estate = """
    SELECT item, \(bounded("deaths")) AS deaths, \(isInQuestion) AS in_question,
      hands IS NULL OR item = ANY(hands) AS in_hand,
      CASE WHEN hands IS NULL THEN count(*) OVER () ELSE cardinality(array_remove(hands, 0::bigint)) END = 1 AS alone,
      coalesce(0 = ANY(hands), false) AS together,
      \(lastHeard) <= (extract(epoch FROM
        greatest(pg_postmaster_start_time(), pg_last_xact_replay_timestamp())) * 1000)::bigint AS server_was_away,
      'its worker (process ' || pid || ' on ' || host || ') died, or was not heard of for longer than its lease' AS death
    FROM reel.worker JOIN reel.work ON work.worker = worker.id AND work.state = 1 WHERE worker.id = $1
    """

  /// An expression for the last heartbeat of a worker.
  private static let lastHeard = "\(bounded(PostgresSchema.endOfWorkersLease)) - \(bounded("lease"))"

  /// Workers that are alive have more than half of their leases left, so one with less than a third was cut off. If at
  /// least two were, and they are most of those that were there by then, no item of one of them was the cause; that is
  /// noted in their hands as the item 0. If this worker was cut off, it accuses none: their hands are emptied, so that
  /// none of their items is in question when their leases are over.
  private func notesThoseThatWentSilentTogether(_ tx: PostgresTransaction) throws {
    let wasCutOff = memory.withLock {
      $0.wasCutOffLately(at: clock(), lastOutage: queue.pool.lastOutage, lease: owner.lease)
    }
    try tx.run(
      """
      WITH fleet AS (
        SELECT id, started_at, \(Self.lastHeard) AS heard,
          \(PostgresSchema.endOfWorkersLease) < \(PostgresSchema.now) + lease / 3 AS is_silent FROM reel.worker
      ), silent AS (
        SELECT count(*) AS count, max(heard) AS heard FROM fleet WHERE is_silent
      ), together AS (
        SELECT silent.count > 1 AND 2 * silent.count
          > (SELECT count(*) FROM fleet WHERE is_silent OR started_at <= silent.heard) AS is_so FROM silent
      )
      UPDATE reel.worker SET hands = CASE WHEN $1 THEN '{}' ELSE array_append(hands, 0::bigint) END
      FROM fleet, together WHERE worker.id = fleet.id AND is_silent AND CASE WHEN $1
        THEN cardinality(coalesce(hands, '{0}')) > 0 ELSE is_so AND hands <> '{}' AND NOT 0 = ANY(hands) END
      """, [.bool(wasCutOff)])
  }

  /// Whether no item is left that this worker may take, neither waiting, nor taken by any worker, nor to be tried
  /// again. Items that were enqueued for later and are not due yet don't count.
  package func isQueueEmpty() throws(CatalogError) -> Bool {
    let id = memory.withLock { $0.worker }
    return try queue.catalogErrors {
      try queue.pool.read { db in
        try db.value(
          """
          WITH RECURSIVE \(Self.waitingLanes()), me AS MATERIALIZED (
            SELECT * FROM reel.worker WHERE id = $1
          ), mine AS MATERIALIZED (
            SELECT lane.id FROM me CROSS JOIN reel.lane WHERE \(Self.serves)
          )
          SELECT EXISTS (SELECT FROM waiting JOIN mine ON mine.id = waiting.lane)
            OR EXISTS (SELECT FROM reel.work WHERE state = 1 AND lane IN (SELECT id FROM mine))
            OR EXISTS (SELECT FROM reel.work WHERE state = 2 AND attempts > 0 AND lane IN (SELECT id FROM mine))
            OR EXISTS (SELECT FROM reel.work WHERE state = 2 AND due_at <= \(PostgresSchema.now) AND lane IN (SELECT id FROM mine))
            -- Struck out: it will be written down anew, and look again.
            OR NOT EXISTS (SELECT FROM reel.worker WHERE id = $1)
          """, [.int(id)], as: Bool.self) == false
      }
    }
  }

  /// Whether an item waits that this worker may take now.
  func isAnythingWaiting(_ db: PostgresConnection) throws -> Bool {
    let id = memory.withLock { $0.worker }
    return try db.value(
      """
      WITH RECURSIVE \(Self.waitingLanes())
      SELECT EXISTS (
        SELECT FROM reel.worker AS me CROSS JOIN waiting JOIN reel.lane ON lane.id = waiting.lane
        WHERE me.id = $1 AND \(Self.takes)
      ) OR NOT EXISTS (SELECT FROM reel.worker WHERE id = $1)
      """, [.int(id)], as: Bool.self) == true
  }

  /// Releases what is held, in the queue and in the catalog, and deletes the process.
  package func retire() throws(CatalogError) {
    try queue.catalogErrors { try owner.retire() }
    memory.withLock { $0.gaveBackAll() }
  }

  /// Gives back what an owner's worker holds, and deletes the worker.
  static func giveBack(of owner: Int64, in tx: PostgresTransaction) throws {
    // This waits for a worker that is just taking something, so that this is given back, too.
    _ = try tx.rows("SELECT id FROM reel.worker WHERE owner = $1 FOR UPDATE", [.int(owner)]) { _ in true }
    let count = try tx.run(
      """
      UPDATE reel.work SET state = 0, worker = NULL, changed_at = \(PostgresSchema.now)
      WHERE worker IN (SELECT id FROM reel.worker WHERE owner = $1) AND state = 1
      """, [.int(owner)])
    try tx.run("DELETE FROM reel.worker WHERE owner = $1", [.int(owner)])
    try WorkQueue.notify(tx, of: count)
  }
}

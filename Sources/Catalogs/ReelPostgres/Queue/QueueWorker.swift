import Glibc
import ReelCore
import Synchronization

/// A process that takes items: a row that hangs on the process's lease (``PostgresOwner``). What it has taken is free again
/// once that is over; what it says of such an item afterwards does not count. Every call blocks.
package final class QueueWorker: Sendable {
  /// How items are handled.
  package struct Settings: Sendable {
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
    /// What is held, as it was taken.
    var held: [Int64: TakenItem] = [:]
    /// The one that is held alone.
    var suspect: Int64?
    /// Where the last look ended, and when it was last looked from the beginning.
    var place: Place?
    var looked: ContinuousClock.Instant?
    /// The last sign of life, and the end of the last time that none came through for most of a lease.
    var heard: ContinuousClock.Instant
    var wasSilent: ContinuousClock.Instant?
  }

  /// A place in the order in which items are taken.
  private struct Place {
    let priority: Int64
    let item: Int64
  }

  private let queue: WorkQueue
  private let owner: PostgresOwner
  private let settings: Settings
  private let host: String
  private let destination: String
  private let clock: @Sendable () -> ContinuousClock.Instant
  private let state: Mutex<State>
  /// Who writes the worker down.
  private let registering = Mutex(())

  /// Writes the worker down, as what the process does that has opened the catalog: from now on that one's heartbeat is
  /// this one's, too.
  /// - Parameters:
  ///   - host: the machine, as `reel status` names it.
  ///   - destination: where it stores, for `reel status`.
  package convenience init(
    _ catalog: PostgresCatalog, host: String, destination: String, settings: Settings = Settings()
  ) throws(CatalogError) {
    try self.init(
      try catalog.workQueue(), try catalog.writable().owner, host: host, destination: destination,
      settings: settings, clock: { .now })
  }

  /// Writes a worker down that is a process of its own, and lives as long as ``renew()`` is called: for tests.
  package convenience init(
    _ queue: WorkQueue, host: String, destination: String, settings: Settings = Settings(),
    lease: Duration = .seconds(120), clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) throws(CatalogError) {
    let owner = try queue.catalogErrors {
      try PostgresOwner(queue.pool, name: host, host: host, lease: lease)
    }
    try self.init(queue, owner, host: host, destination: destination, settings: settings, clock: clock)
  }

  private init(
    _ queue: WorkQueue, _ owner: PostgresOwner, host: String, destination: String, settings: Settings,
    clock: @escaping @Sendable () -> ContinuousClock.Instant
  ) throws(CatalogError) {
    (self.queue, self.owner, self.settings) = (queue, owner, settings)
    (self.host, self.destination, self.clock) = (host, destination, clock)
    state = Mutex(State(id: 0, heard: clock()))
    try register(inPlaceOf: 0)
    owner.takesItems { [weak self] in
      try self?.beat()
      return self != nil
    }
  }

  /// The items that it has taken and said nothing of.
  package var held: Set<Int64> { state.withLock { Set($0.held.keys) } }

  /// Writes the worker down anew, unless another thread has done so meanwhile: what has been taken since is that row's.
  /// - Parameter old: its row, which others have struck out; 0 for none yet.
  private func register(inPlaceOf old: Int64) throws(CatalogError) {
    try registering.withLock { _ throws(CatalogError) in
      guard state.withLock({ $0.id == old }) else { return }
      let id: Int64? = try queue.catalogErrors {
        // Not of one statement: that could come to the server late, and strike out the row of a later attempt, under which
        // items have been taken.
        try queue.pool.transaction { tx in
          try tx.value(
            """
            -- Of an earlier attempt that nobody heard of.
            WITH gone AS (DELETE FROM reel.worker WHERE owner = $5)
            INSERT INTO reel.worker (host, pid, destination, started_at, lease_until, lease, hands, owner)
            VALUES ($1, $2, $3, \(PostgresSchema.now), \(PostgresSchema.now) + $4, $4, '{}', $5) RETURNING id
            """, [.text(host), .int(Int64(getpid())), .text(destination), .int(lease), .int(owner.id)])
        }
      }
      state.withLock { state in
        state = State(id: id ?? 0, heard: clock(), wasSilent: state.wasSilent)
      }
    }
  }

  private var lease: Int64 { Int64(owner.lease / .milliseconds(1)) }

  /// A number of a row, in SQL, as arithmetic bears it: whoever may write to the queue may have written any.
  private static func bounded(_ column: String) -> String {
    "least(greatest(\(column), 0), 1000000000000000)"
  }

  // MARK: Taking

  /// Between two looks from the beginning: what was given back, or is more urgent, is seen by the next.
  private static let lookPause = Duration.seconds(1)

  /// Takes up to `count` items, the most urgent and oldest first. An item in whose presence all workers but one of the
  /// number that are allowed to have died is taken alone, so that others are not set aside with it.
  package func take(upTo count: Int) throws(CatalogError) -> [TakenItem] {
    let now = clock()
    let (before, place) = state.withLock { state -> (State, Place?) in
      (state, state.looked.map { now - $0 < Self.lookPause } ?? false ? state.place : nil)
    }
    if before.suspect != nil { return [] }
    let id = before.id
    let known = Array(before.held.keys)
    let taken: [TakenItem]? = try queue.catalogErrors {
      if let place {
        let taken = try next(count, behind: place, mostDeaths: settings.mostDeaths, id, but: known)
        if taken?.isEmpty == false { return taken }
      }
      let taken = try next(count, behind: nil, mostDeaths: settings.mostDeaths, id, but: known)
      guard taken?.isEmpty == true, known.isEmpty else { return taken }
      return try next(1, behind: nil, mostDeaths: .max, id, but: known)
    }
    guard let taken else {
      // Others found the lease over, and have what it held.
      try register(inPlaceOf: id)
      return []
    }
    state.withLock { state in
      guard state.id == id else { return }
      state.held.merge(taken.map { ($0.id, $0) }) { $1 }
      state.suspect = taken.first { isSuspect($0.deaths) }?.id
      if place == nil { state.looked = now }
      state.place = taken.last.map { Place(priority: $0.priority, item: $0.id) }
    }
    return taken
  }

  private func isRegistered(_ tx: PostgresTransaction, _ id: Int64) throws -> Bool {
    try tx.value("SELECT id FROM reel.worker WHERE id = $1 FOR NO KEY UPDATE", [.int(id)], as: Int64.self)
      != nil
  }

  /// - Parameters:
  ///   - place: where the last look ended. Before it the index is full of what was taken since the server cleaned up.
  ///   - known: what the worker knows that it holds.
  /// - Returns: nil when others have found the lease over.
  private func next(
    _ count: Int, behind place: Place?, mostDeaths: Int, _ id: Int64, but known: [Int64]
  ) throws -> [TakenItem]? {
    // In a transaction of its own it could come to the server late, when this has been tried again: what it takes then
    // nobody would know of.
    try queue.pool.transaction { tx in
      if tx.mayBeDone {
        // Nobody was told whether an earlier attempt was committed. Its end is waited for here.
        guard try isRegistered(tx, id) else { return nil }
        let lost = try held(by: id, but: known, tx)
        if !lost.isEmpty { return lost }
      }
      return try next(count, behind: place, mostDeaths: mostDeaths, id, tx)
    }
  }

  private func next(
    _ count: Int, behind place: Place?, mostDeaths: Int, _ id: Int64, _ tx: PostgresTransaction
  ) throws -> [TakenItem]? {
    var values: [PostgresValue] = [.int(id), .int(Int64(count)), .int(Int64(mostDeaths))]
    if let place { values += [.int(place.priority), .int(place.item)] }
    // By its place in the table, which nobody changes while it is locked. The worker's row is locked, too: who would free
    // what it holds waits until this is to be seen.
    let rows = try tx.rows(
      """
      WITH me AS MATERIALIZED (
        SELECT id FROM reel.worker WHERE id = $1 FOR NO KEY UPDATE
      ), next AS MATERIALIZED (
        SELECT ctid AS place, deaths FROM reel.work
        WHERE state = 0 \(place == nil ? "" : "AND priority = $4 AND item > $5")
        ORDER BY priority DESC, item LIMIT $2 FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE reel.work SET state = 1, worker = me.id, attempts = \(Self.bounded("attempts")) + 1, changed_at = \(PostgresSchema.now)
        FROM me, next WHERE work.ctid = next.place AND (next.deaths = 0 OR next.deaths < $3 - 1)
        RETURNING work.item, work.priority, work.deaths, work.failures, work.attempts
      )
      SELECT taken.*, address, version, size
      FROM me LEFT JOIN (taken JOIN reel.item ON item.id = taken.item) ON true
      """, values
    ) { row in try row["item"] as Int64? == nil ? nil : try TakenItem(row) }
    if rows.isEmpty { return nil }
    return rows.compactMap(\.self).sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
  }

  /// What the worker holds by the tables.
  private func held(by id: Int64, but known: [Int64], _ tx: PostgresTransaction) throws -> [TakenItem] {
    try tx.rows(
      """
      SELECT work.item, priority, deaths, failures, attempts, address, version, size
      FROM reel.work JOIN reel.item ON item.id = work.item
      WHERE worker = $1 AND state = 1 AND NOT work.item = ANY($2) ORDER BY priority DESC, work.item
      """, [.int(id), .ints(known)]
    ) { try TakenItem($0) }
  }

  /// Whether one more death would set it aside.
  private func isSuspect(_ deaths: Int) -> Bool { deaths > 0 && deaths >= settings.mostDeaths - 1 }

  /// Writes down which items are being worked on from now on: these alone are suspects, should the worker die. Those that
  /// it holds beside them are not.
  package func begin(_ items: [Int64]) throws(CatalogError) {
    let id = state.withLock { $0.id }
    try queue.catalogErrors {
      try queue.pool.transaction(ofOneStatement: true) { tx in
        try tx.run("UPDATE reel.worker SET hands = $2 WHERE id = $1", [.int(id), .ints(items)])
      }
    }
  }

  // MARK: Finishing

  /// Writes down what became of items, and, in the same breath, why: what `reel status` shows of their files. One that is not
  /// this worker's any more, because its lease was over, is left as it is: somebody else has it.
  package func finish(_ outcomes: [ItemOutcome]) throws(CatalogError) {
    let (id, held) = state.withLock { ($0.id, $0.held) }
    let rows = outcomes.compactMap { one in held[one.item].map { Row(one, of: $0, on: owner.host) } }
    if rows.isEmpty { return }
    let back = rows.count { $0.state == ItemState.waiting.rawValue }
    try queue.catalogErrors {
      if back == 0 {
        try queue.pool.transaction(ofOneStatement: true) { tx in try finish(rows, by: id, tx) }
      } else {
        try queue.pool.transaction { tx in
          try finish(rows, by: id, tx)
          try WorkQueue.notify(tx, of: back)
        }
      }
    }
    state.withLock { state in
      guard state.id == id else { return }
      for row in rows where state.held[row.item]?.attempts == row.attempts { state.held[row.item] = nil }
      if let suspect = state.suspect, state.held[suspect] == nil { state.suspect = nil }
    }
  }

  private func finish(_ rows: [Row], by id: Int64, _ tx: PostgresTransaction) throws {
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
            THEN \(PostgresSchema.now) + $7 * (4 ^ least(\(failures), 8))::bigint END,
          code = coalesce(said.code, work.code), message = coalesce(said.message, work.message)
        -- By the number of the taking: it may have been given back and taken again since.
        FROM said WHERE work.item = said.item AND work.worker = $1 AND work.state = 1
          AND work.attempts = said.attempts
        RETURNING work.state, work.code, work.message, host, path, place
      ), why AS (
        -- An item that succeeds takes back what was said of it; of two states of one file, the last counts.
        SELECT DISTINCT ON (host, path) * FROM ended WHERE state > 0 AND code IS NOT NULL ORDER BY host, path, place DESC
      ), noted AS (
        INSERT INTO reel.failure (host, path, code, message, refused, at)
        SELECT host, path, code, coalesce(message, ''), state = 4, \(PostgresSchema.now) FROM why WHERE state <> 3
        ON CONFLICT (host, path_digest) DO UPDATE SET code = excluded.code, message = excluded.message,
          refused = excluded.refused, at = excluded.at
      ), taken_back AS (
        DELETE FROM reel.failure USING why
        WHERE why.state = 3 AND failure.host = why.host AND failure.path_digest = sha256(why.path)
      )
      UPDATE reel.worker SET
        finished = \(Self.bounded("finished")) + (SELECT count(*) FROM ended WHERE state > \(ItemState.later.rawValue)),
        failed = \(Self.bounded("failed")) + (SELECT count(*) FROM ended WHERE state > \(ItemState.done.rawValue))
      WHERE id = $1
      """,
      [
        .int(id), .ints(rows.map(\.item)), .ints(rows.map(\.state)), .texts(rows.map(\.code)),
        .texts(rows.map(\.message)), .int(Int64(settings.mostFailures)),
        .int(Int64(settings.pause / .milliseconds(1))), .ints(rows.map(\.counted)),
        .ints(rows.map(\.attempts)), .texts(rows.map(\.host)), .byteStrings(rows.map(\.path)),
      ])
  }

  /// An outcome in the columns that it changes.
  private struct Row {
    let item: Int64
    let state: Int64
    let code: String?
    let message: String?
    let attempts: Int64
    /// What its file is known by.
    let host: String
    let path: [UInt8]
    /// 1 for a failure that counts as one of those that an item may have.
    let counted: Int64

    /// - Parameter host: the machine that the paths of files are of.
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

  // MARK: Living

  /// Moves the end of the lease.
  /// - Returns: false when others have found it over: then nothing that was held is its own any more.
  @discardableResult
  package func renew() throws(CatalogError) -> Bool {
    try signOfLife().isWorkerThere
  }

  /// A sign of life, and what it shows to be done.
  private func beat() throws(CatalogError) {
    if try signOfLife().isAnythingDue { try free() }
  }

  private func signOfLife() throws(CatalogError) -> PostgresOwner.Life {
    let id = state.withLock { $0.id }
    let life = try queue.catalogErrors { try owner.renew(id) }
    state.withLock { state in
      let now = clock()
      if now - state.heard > owner.lease * 2 / 3 { state.wasSilent = now }
      state.heard = now
    }
    if !life.isWorkerThere { try register(inPlaceOf: id) }
    return life
  }

  /// In SQL: whether there is something for ``free()`` to do. As a rule there is nothing, and to look costs the server no
  /// transaction.
  static let isAnythingDue = """
    (EXISTS (SELECT FROM reel.work WHERE state = 2 AND due_at <= \(PostgresSchema.now))
      OR EXISTS (SELECT FROM reel.worker WHERE \(PostgresSchema.endOfWorkersLease) < \(PostgresSchema.now)))
    """

  /// Frees what dead workers had taken, and what was to be tried again by now.
  ///
  /// Each item that a worker was at when it died has one death more. Not so where the database was away since that worker
  /// was heard of last, where most workers went silent together, or where this one was not heard of itself in that time:
  /// then it was not an item that ended them.
  /// - Returns: how many items are free again.
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
          UPDATE reel.work SET state = 0, due_at = NULL FROM due WHERE work.item = due.item
          """)
        try sparesThoseThatWentSilentTogether(tx)
        count += try strikeOutTheDead(tx)
        try WorkQueue.notify(tx, of: count)
        return count
      }
    }
  }

  /// Who is dead is so in the queue and in the catalog alike: what it held in either is free from the same moment on.
  ///
  /// Its row among the owners is locked first: a sign of life that comes meanwhile waits, and finds that it holds nothing.
  /// Who takes or finishes something meanwhile, and holds the row of its worker, is left to the next look.
  private func strikeOutTheDead(_ tx: PostgresTransaction) throws -> Int {
    var count = 0
    let owners = try tx.rows(
      """
      SELECT id FROM reel.owner WHERE lease_until < \(PostgresSchema.now)
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
    // Those of an older Reel, and those whose owners are gone.
    let others = """
      lease_until < \(PostgresSchema.now)
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
    let count = try tx.run(Self.freeing, [.int(worker), .int(Int64(settings.mostDeaths))])
    try tx.run("DELETE FROM reel.worker WHERE id = $1", [.int(worker)])
    return count
  }

  /// Who says nothing of what it has in hand (an older Reel) may have all in hand. A server's own beginning, or the end of its
  /// time as a standby, is the end of an outage, which the worker may have waited for, or given up.
  private static let freeing = """
    WITH ended AS (
      SELECT id, hands, 'its worker (process ' || pid || ' on ' || host
          || ') died, or was not heard of for longer than its lease' AS message,
        \(bounded(PostgresSchema.endOfWorkersLease)) - \(bounded("lease")) > (extract(epoch FROM
          greatest(pg_postmaster_start_time(), pg_last_xact_replay_timestamp())) * 1000)::bigint AS died
      FROM reel.worker WHERE id = $1
    ), freed AS (
      SELECT item, ended.message, (died AND (hands IS NULL OR item = ANY(hands)))::int AS death
      FROM ended JOIN reel.work ON work.worker = ended.id AND work.state = 1
    )
    UPDATE reel.work SET worker = NULL, changed_at = \(PostgresSchema.now), deaths = \(bounded("deaths")) + death,
      state = CASE WHEN death = 1 AND \(bounded("deaths")) + 1 >= $2 THEN 6 ELSE 0 END,
      code = CASE death WHEN 1 THEN 'workerDied' ELSE code END,
      message = CASE death WHEN 1 THEN freed.message ELSE work.message END
    FROM freed WHERE work.item = freed.item AND work.worker = $1 AND work.state = 1
    """

  /// Those that live have more than half of their leases before them: who has less than a third was cut off. Where that is
  /// true of most, what they have in hand is no suspect, now or when their leases are over.
  private func sparesThoseThatWentSilentTogether(_ tx: PostgresTransaction) throws {
    try tx.run(
      """
      WITH fleet AS (
        SELECT id, \(PostgresSchema.endOfWorkersLease) < \(PostgresSchema.now) + lease / 3 AS is_silent FROM reel.worker
      )
      UPDATE reel.worker SET hands = '{}' FROM fleet
      WHERE worker.id = fleet.id AND is_silent AND cardinality(coalesce(hands, '{0}')) > 0 AND ($1 OR (
        SELECT silent >= 5 AND 2 * silent > everybody
        FROM (SELECT count(*) FILTER (WHERE is_silent) AS silent, count(*) AS everybody FROM fleet) AS counted))
      """, [.bool(wasCutOffLately)])
  }

  /// Whether this worker itself was not heard of, or saw the database away, less than a lease ago: who was silent in that
  /// time may have been so for the same reason. In a fleet of two nobody else could tell.
  private var wasCutOffLately: Bool {
    let ends = [state.withLock { $0.wasSilent }, queue.pool.lastOutage].compactMap(\.self)
    return ends.contains { clock() - $0 < owner.lease }
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

  /// Gives back what is held, in the queue and in the catalog, and strikes the process out.
  package func retire() throws(CatalogError) {
    try queue.catalogErrors { try owner.retire() }
    state.withLock { ($0.held, $0.suspect) = ([:], nil) }
  }

  /// Gives back what an owner's worker holds, and strikes that out.
  static func giveBack(of owner: Int64, in tx: PostgresTransaction) throws {
    // Who takes something just now has done so before it is given back.
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

import FoundationEssentials
import Glibc
import ReelCore

/// The processes that work on this library, and which of them are alive.
///
/// An owner is a row with a lease, and a lock. It is dead if the row is gone, if its lease has run out, or if its lock
/// is free and it can't be running under another kernel, whose locks would not show here.
struct ProcessRegistry: Sendable {
  let locks: any OwnerLocks
  let clock: any WallClock
  let host: String
  /// How long an owner without a heartbeat counts as alive.
  let lease: Duration
  /// Whether this kernel has the library's file system to itself.
  let isLocal: Bool

  init(library: LibraryFolder, clock: any WallClock, host: String, lease: Duration, isLocal: Bool? = nil) {
    locks = LockFiles(library)
    self.clock = clock
    self.host = host
    self.lease = lease
    self.isLocal = isLocal ?? LocalFileSystem.holds(library.path)
  }

  /// Creates a registry of owners that all live in this process, where their locks alone decide.
  init(_ locks: LocksInMemory, clock: any WallClock) {
    self.locks = locks
    self.clock = clock
    (host, lease, isLocal) = ("", .seconds(Int64.max), true)
  }

  /// The tables of what an owner can hold.
  private static let held = ["intent", "change"]

  /// Deletes dead owners, adds the owner of `lock`, and returns its id.
  func register(_ lock: any HeldLock, in db: Connection) throws -> Int64 {
    try strikeDead(in: db)
    let now = clock.now().milliseconds
    let id = try db.number(
      """
      INSERT INTO owner (lockName, host, pid, startedAt, leaseUntil) VALUES (?, ?, ?, ?, ?) RETURNING id
      """, [lock.name, host, Int64(getpid()), now, leaseEnd])
    guard let id else { throw SQLiteError(.generic, "no id for the new owner") }
    try Failpoint.ownerEnlisted.reachInDatabase()
    return id
  }

  /// Extends `owner`'s lease. If another machine has deleted the owner's row, it is inserted again.
  func renew(_ owner: Int64, lock: String, in db: Connection) throws {
    try db.run(
      """
      INSERT INTO owner (id, lockName, host, pid, startedAt, leaseUntil) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET leaseUntil = excluded.leaseUntil
      """, [owner, lock, host, Int64(getpid()), clock.now().milliseconds, leaseEnd])
    try Failpoint.leaseRenewed.reachInDatabase()
  }

  /// Releases all that `owner` holds, and deletes its row. Undelivered events stay in the outbox
  /// for whichever owner comes across them.
  func retire(_ owner: Int64, in db: Connection) throws {
    for table in Self.held { try db.run("UPDATE \(table) SET owner = NULL WHERE owner = ?", [owner]) }
    try db.run("DELETE FROM owner WHERE id = ?", [owner])
    try Failpoint.ownerRetired.reachInDatabase()
  }

  /// Whether what `owner` holds must be left alone.
  func isAlive(_ owner: Int64, in db: Connection) throws -> Bool {
    try db.row("SELECT lockName, host, leaseUntil FROM owner WHERE id = ?", [owner]) { row in
      if try row["leaseUntil"] <= clock.now().milliseconds { return false }
      return try locks.isHeld(row["lockName"]) || mayLiveElsewhere(row["host"])
    } ?? false
  }

  /// Whether what `owner` has is held: by `claimant` itself, or by another owner that is alive.
  func holding(_ owner: Int64?, for claimant: Int64, in db: Connection) throws -> IntentHolding {
    try IntentHolding(owner: owner, claimant: claimant) { try isAlive($0, in: db) }
  }

  /// Whether a living owner other than `me` holds it.
  func isAnothers(_ owner: Int64?, than me: Int64, in db: Connection) throws -> Bool {
    try owner != me && holding(owner, for: me, in: db) == .held
  }

  /// Whether an owner of `itsHost` whose lock is free here may be running under another kernel. Then its lease decides.
  func mayLiveElsewhere(_ itsHost: String) -> Bool {
    if itsHost == host || HostIdentity.isOneKernel(itsHost, host) { return false }
    // `itsHost` is this machine before a reboot, or a copy of it. A copy can't have this kernel's local file system
    // open, so it is the former, whatever the clock was set to since.
    return !(isLocal && HostIdentity.isAnotherBoot(itsHost, of: host))
  }

  private var leaseEnd: Int64 {
    let (seconds, attoseconds) = lease.components
    return clock.now().milliseconds.addingClamped(seconds.multipliedClamped(by: 1000))
      .addingClamped(attoseconds / 1_000_000_000_000_000)
  }

  private func strikeDead(in db: Connection) throws {
    let dead: [Int64?] = try db.rows("SELECT id, lockName, host FROM owner") { row in
      try locks.isHeld(row["lockName"]) || mayLiveElsewhere(row["host"]) ? nil : row["id"]
    }
    for owner in dead.compactMap(\.self) { try db.run("DELETE FROM owner WHERE id = ?", [owner]) }
    // An owner of another machine goes a day after its lease has ended.
    let yesterday = clock.now().milliseconds - LeaseTerms.untilRowGoes
    try db.run("DELETE FROM owner WHERE host <> ? AND leaseUntil < ?", [host, yesterday])
    try removeDeadLocks(in: db)
  }

  /// Removes the locks of dead owners, including those that died before they had a
  /// row, or before their lock had its name.
  private func removeDeadLocks(in db: Connection) throws {
    let known: Set<String> = Set(try db.values("SELECT lockName FROM owner"))
    for name in locks.names() where !known.contains(name) && !locks.isHeld(name) {
      locks.removeIfDead(name)
    }
  }
}

extension ProcessRegistry {
  /// Returns every owner with a row, then every lock without one.
  func examined(in db: Connection) throws -> [ExaminedOwner] {
    let owners = try db.rows("SELECT lockName, host, pid, leaseUntil FROM owner ORDER BY id") { row in
      try examined(row)
    }
    let named = Set(owners.map(\.name))
    return owners
      + locks.names().filter { !named.contains($0) && !locks.isHeld($0) }.map {
        ExaminedOwner(name: $0, pid: nil, leaseUntil: nil, life: .dead)
      }
  }

  private func examined(_ row: Row) throws -> ExaminedOwner {
    let (name, leaseUntil) = (try row["lockName"] as String, Date(milliseconds: try row["leaseUntil"]))
    let isOver = leaseUntil <= clock.now()
    let life: ExaminedOwner.Life =
      if locks.isHeld(name) {
        isOver ? .overdue : .alive
      } else {
        try isOver || !mayLiveElsewhere(row["host"]) ? .dead : .alive
      }
    return ExaminedOwner(name: name, pid: try row["pid"], leaseUntil: leaseUntil, life: life)
  }

  /// Deletes every dead owner, including those of other machines whose lease has run out, and releases what dead owners
  /// held. The time of an intent's last change stays as it is.
  func reap(in db: Connection) throws {
    for owner in try examined(in: db) where owner.life == .dead {
      try db.run("DELETE FROM owner WHERE lockName = ?", [owner.name])
      locks.removeIfDead(owner.name)
    }
    for table in Self.held {
      for owner: Int64 in try db.values("SELECT DISTINCT owner FROM \(table) WHERE owner IS NOT NULL") {
        if try isAlive(owner, in: db) { continue }
        try db.run("UPDATE \(table) SET owner = NULL WHERE owner = ?", [owner])
      }
    }
  }
}

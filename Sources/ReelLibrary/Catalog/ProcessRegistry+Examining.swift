import FoundationEssentials
import ReelCore

extension ProcessRegistry {
  /// Every owner with a row, then every lock without one.
  func examined(in db: Connection) throws -> [ExaminedOwner] {
    let owners = try db.rows("SELECT lockName, host, pid, leaseUntil FROM owner ORDER BY id") { row in
      try examined(row)
    }
    let named = Set(owners.map(\.name))
    return owners
      + lockNames().filter { !named.contains($0) && !holdsLock($0) }.map {
        ExaminedOwner(name: $0, pid: nil, leaseUntil: nil, life: .dead)
      }
  }

  private func examined(_ row: Row) throws -> ExaminedOwner {
    let (name, leaseUntil) = (try row["lockName"] as String, Date(milliseconds: try row["leaseUntil"]))
    let isOver = leaseUntil <= clock.now()
    let life: ExaminedOwner.Life =
      if holdsLock(name) {
        isOver ? .overdue : .alive
      } else {
        try isOver || !mayLiveElsewhere(row["host"]) ? .dead : .alive
      }
    return ExaminedOwner(name: name, pid: try row["pid"], leaseUntil: leaseUntil, life: life)
  }

  /// Strikes out every dead owner, also those whose lease ran out on another machine, and takes from the dead
  /// what they held. When an intent changed last stays as it is.
  func reap(in db: Connection) throws {
    for owner in try examined(in: db) where owner.life == .dead {
      try db.run("DELETE FROM owner WHERE lockName = ?", [owner.name])
      _ = try? OwnerLock.removeIfDead(directory: library.temporaryPath, name: owner.name)
    }
    for owner: Int64 in try db.values("SELECT DISTINCT owner FROM intent WHERE owner IS NOT NULL") {
      if try isAlive(owner, in: db) { continue }
      try db.run("UPDATE intent SET owner = NULL WHERE owner = ?", [owner])
    }
  }
}

import FoundationEssentials
import GRDB
import ReelModel
import ReelSystem

extension OwnerRoll {
  /// Every owner with a row, then every lock without one.
  func examined(in db: Database) throws -> [ExaminedOwner] {
    let rows = try db.rows("SELECT lockName, host, pid, leaseUntil FROM owner ORDER BY id")
    let named = Set(rows.map { $0["lockName"] as String })
    return rows.map(examined)
      + lockNames().filter { !named.contains($0) && !holdsLock($0) }.map {
        ExaminedOwner(name: $0, pid: nil, leaseUntil: nil, life: .dead)
      }
  }

  private func examined(_ row: Row) -> ExaminedOwner {
    let leaseUntil = Date(milliseconds: row["leaseUntil"])
    let isOver = leaseUntil <= clock.now()
    let life: ExaminedOwner.Life =
      if holdsLock(row["lockName"]) {
        isOver ? .overdue : .alive
      } else {
        isOver || !mayLiveElsewhere(row["host"]) ? .dead : .alive
      }
    return ExaminedOwner(name: row["lockName"], pid: row["pid"], leaseUntil: leaseUntil, life: life)
  }

  /// Strikes out every dead owner, also those whose lease ran out on another machine, and takes from the dead
  /// what they held. When an intent changed last stays as it is.
  func bury(in db: Database) throws {
    for owner in try examined(in: db) where owner.life == .dead {
      try db.run("DELETE FROM owner WHERE lockName = ?", [owner.name])
      _ = try? OwnerLock.removeIfDead(directory: library.temporaryPath, name: owner.name)
    }
    for row in try db.rows("SELECT DISTINCT owner FROM intent WHERE owner IS NOT NULL") {
      let owner: Int64 = row["owner"]
      if try isAlive(owner, in: db) { continue }
      try db.run("UPDATE intent SET owner = NULL WHERE owner = ?", [owner])
    }
  }
}

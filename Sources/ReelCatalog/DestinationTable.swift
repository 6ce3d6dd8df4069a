import GRDB
import ReelModel

/// Stores by their settled names, and how much each holds.
enum DestinationTable {
  /// The destination's id, given now if it has none.
  static func id(of destination: Destination, in db: Database) throws -> Int64 {
    let known = try db.number("SELECT id FROM destination WHERE name = ?", [destination.name])
    if let known { return known }
    try db.run("INSERT INTO destination (name) VALUES (?)", [destination.name])
    return db.lastInsertedRowID
  }

  /// Counts a post of `bytes`.
  static func count(bytes: Int64, in destination: Int64, db: Database) throws {
    try db.run(
      "UPDATE destination SET posts = posts + 1, bytes = bytes + ? WHERE id = ?", [bytes, destination])
  }
}

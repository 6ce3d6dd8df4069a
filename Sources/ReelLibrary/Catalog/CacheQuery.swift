import ReelCore

/// How much is remembered, and how it is given back to the disk.
enum CacheQuery {
  /// Bytes of a known file's row: eight columns' headers, five numbers, a digest.
  private static let knownFileBytes: Int64 = 80
  /// Bytes of a reading's row without its JSON.
  private static let readingBytes: Int64 = 64

  static func status(in db: Connection) throws -> CacheStatus {
    let files = try StatusQuery.count("knownFile", in: db)
    let readings = try StatusQuery.count("reading", in: db)
    let documents = try db.value("SELECT total(length(outcome)) FROM reading", as: Double.self) ?? 0
    return CacheStatus(
      files: files, readings: readings,
      bytes: Int64(files) * knownFileBytes + Int64(readings) * readingBytes + Int64(documents))
  }

  /// Gives pages that hold nothing back to the file system, a few megabytes at a time, so that another
  /// process's commit comes in between. Gives the bytes that the file shrinks by.
  static func giveBackFreePages(of db: Connection) throws -> Int64 {
    let before = try number("page_count", db)
    while try number("freelist_count", db) > 0 {
      let left = try number("page_count", db)
      try db.execute("PRAGMA incremental_vacuum(1000)")
      if try number("page_count", db) >= left { break }
    }
    try db.checkpoint(.truncate)
    return (before - (try number("page_count", db))) * (try number("page_size", db))
  }

  private static func number(_ pragma: String, _ db: Connection) throws -> Int64 {
    try db.value("PRAGMA \(pragma)") ?? 0
  }
}

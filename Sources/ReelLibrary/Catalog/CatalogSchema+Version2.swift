extension CatalogSchema {
  /// Adds what uploads go on from.
  static let version2 = """
    -- Where an upload that was begun can go on, or where a store that names its objects itself has put one.
    CREATE TABLE checkpoint (
      destination INTEGER NOT NULL REFERENCES destination (id),
      objectKey TEXT NOT NULL,
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      -- The store's own name for it. Whoever knows it may be able to write: it is never told.
      secret TEXT NOT NULL CHECK (length(secret) BETWEEN 1 AND 8192),
      changedAt INTEGER NOT NULL,
      PRIMARY KEY (destination, objectKey)
    ) STRICT, WITHOUT ROWID;
    """
}

import ReelCore

/// The tables, and how an older catalog is brought up to date.
///
/// Versions are counted in `PRAGMA user_version`. A released version never changes: later
/// changes are appended to ``migrations``.
enum CatalogSchema {
  /// "Reel" in ASCII: the number by which SQLite's header identifies the program that the file belongs to.
  static let applicationID = 0x5265_656C

  /// The statements that turn version `n` into version `n + 1`, by `n`.
  static let migrations = [
    version1, version2, version3, version4, version5, version6, version7, version8, version9,
  ]

  /// The first version that is not opened by any Reel that makes checkpoints during another connection's commit
  /// (``CheckpointRule``). Such a Reel could lose what the others have committed.
  static let firstWithoutReset = 7

  /// The version that this build writes and reads.
  static var version: Int { migrations.count }

  /// Returns the version of the catalog in `db`, or 0 if the database is empty. It only reads.
  ///
  /// - Throws: ``CatalogError`` (`newerSchema`, or `corrupt` for another program's database).
  static func checkedVersion(of db: Connection, at path: String) throws -> Int {
    let application = try db.value("PRAGMA application_id") ?? 0
    let found = try db.value("PRAGMA user_version") ?? 0
    if application == applicationID {
      if found > version { throw CatalogError.newerSchema(found, known: version, at: path) }
      return found
    }
    let isEmpty = try db.value("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)") ?? false
    guard application == 0, found == 0, isEmpty else { throw CatalogError.notACatalog(at: path) }
    return 0
  }

  /// Whether the catalog in `db` is as this build writes it; see ``migrate(_:at:through:)``.
  static func isUpToDate(_ db: Connection, at place: CatalogPlace) throws -> Bool {
    let found = try checkedVersion(of: db, at: place.path)
    return try found == version && !OwnStore(place: place).isNamedByPath(in: db)
  }

  /// Brings the tables up to date by `migrations`, and the name of the library's own store by where the library is, in
  /// one transaction. Any number of processes may try it at once.
  static func migrate(
    _ db: Connection, at place: CatalogPlace, through migrations: [String] = Self.migrations
  ) throws {
    try db.transaction(.immediate) {
      let found = try checkedVersion(of: db, at: place.path)
      let own = OwnStore(place: place)
      if try found >= migrations.count && !own.isNamedByPath(in: db) { return }
      for statements in migrations.dropFirst(found) {
        try db.execute(statements)
      }
      try own.adopt(in: db, from: found)
      try db.execute("PRAGMA application_id = \(applicationID)")
      try db.execute("PRAGMA user_version = \(migrations.count)")
      try Failpoint.catalogSchemaWritten.reachInDatabase()
    }
  }
}

extension CatalogSchema {
  /// Times are in milliseconds since 1970. Values that are looked up by their exact bytes are BLOBs.
  static let version1 = """
    -- A process that works on this library. A row that is missing means a dead owner; ids are not used twice.
    CREATE TABLE owner (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      lockName TEXT NOT NULL UNIQUE,
      host TEXT NOT NULL,
      pid INTEGER NOT NULL,
      startedAt INTEGER NOT NULL,
      leaseUntil INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE destination (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      posts INTEGER NOT NULL DEFAULT 0 CHECK (posts >= 0),
      bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0)
    ) STRICT;

    -- What we mean to publish, or have published. Rows stay: each names an object that may be in the store.
    CREATE TABLE intent (
      number INTEGER PRIMARY KEY,
      postID BLOB NOT NULL UNIQUE CHECK (length(postID) = 16),
      destination INTEGER NOT NULL REFERENCES destination (id),
      objectKey TEXT NOT NULL,
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      -- Empty for nobody, else "=" and the author's id in UTF-8, which may hold any character.
      author BLOB NOT NULL,
      -- Which of the posts of one publication it is, from 0; null when the key turned out to be unusable.
      ordinal INTEGER CHECK (ordinal >= 0),
      size INTEGER NOT NULL CHECK (size >= 0),
      -- 0 unfinished, 1 published, 2 given up because its key is taken.
      state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)),
      attempt INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1),
      -- Who works on it; null when nobody does.
      owner INTEGER,
      createdAt INTEGER NOT NULL,
      changedAt INTEGER NOT NULL,
      UNIQUE (destination, objectKey),
      UNIQUE (digest, destination, author, ordinal),
      CHECK ((state = 2) = (ordinal IS NULL)),
      CHECK (state = 0 OR owner IS NULL)
    ) STRICT;
    CREATE INDEX intentUnfinished ON intent (digest, destination, author, ordinal) WHERE state = 0;
    CREATE INDEX intentHeld ON intent (owner) WHERE owner IS NOT NULL;

    -- The last page number that was given away; one row.
    CREATE TABLE feed (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      lastPageNumber INTEGER NOT NULL
    ) STRICT;
    INSERT INTO feed (id, lastPageNumber) VALUES (1, 0);

    CREATE TABLE post (
      pageNumber INTEGER PRIMARY KEY CHECK (pageNumber >= 1),
      id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
      intent INTEGER NOT NULL UNIQUE REFERENCES intent (number),
      createdAt INTEGER NOT NULL,
      -- The post as JSON, without what the columns say.
      document TEXT NOT NULL
    ) STRICT;

    -- Posts whose event has not been told, and who is to tell it.
    CREATE TABLE outbox (
      pageNumber INTEGER PRIMARY KEY REFERENCES post (pageNumber),
      owner INTEGER NOT NULL
    ) STRICT;

    -- One row for each inode: its last state that was hashed.
    CREATE TABLE knownFile (
      device INTEGER NOT NULL,
      inode INTEGER NOT NULL,
      size INTEGER NOT NULL,
      modifiedAt INTEGER NOT NULL,
      changedAt INTEGER NOT NULL,
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      PRIMARY KEY (device, inode)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE reading (
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      reel TEXT NOT NULL,
      ffmpeg TEXT NOT NULL,
      -- A ProbeOutcome as JSON.
      outcome TEXT NOT NULL,
      PRIMARY KEY (digest, reel, ffmpeg)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE failure (
      path BLOB PRIMARY KEY,
      code TEXT NOT NULL,
      message TEXT NOT NULL,
      refused INTEGER NOT NULL CHECK (refused IN (0, 1)),
      at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX failureByTime ON failure (at);
    """
}

extension CatalogSchema {
  /// Adds the checkpoints from which uploads are resumed.
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

extension CatalogSchema {
  /// Gives the library's own store a name without a path (``StoreName/own``).
  static let version3 = """
    -- The version of the tables that the Reel knew which wrote the row. One that has had the catalog open since
    -- before it was brought up to date leaves it out: it looks stores up by names that are others now, finds none of
    -- their posts, and would publish them again.
    ALTER TABLE destination ADD COLUMN madeBy INTEGER;
    CREATE TRIGGER destinationOfOlderReel BEFORE INSERT ON destination WHEN NEW.madeBy IS NULL
    BEGIN
      SELECT RAISE(ABORT, 'a newer Reel has brought it up to date meanwhile: run the same command again');
    END;
    """
}

extension CatalogSchema {
  /// Adds posters.
  static let version4 = """
    -- A poster that is, or was to be, stored for an intent's post. Rows stay: each names an object that may be in the
    -- store. Of one intent there may be several: an attempt whose poster has other bytes names it anew.
    CREATE TABLE poster (
      number INTEGER PRIMARY KEY,
      intent INTEGER NOT NULL REFERENCES intent (number),
      destination INTEGER NOT NULL REFERENCES destination (id),
      objectKey TEXT NOT NULL,
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      size INTEGER NOT NULL CHECK (size >= 0),
      -- 0 named, 1 its post shows it, 2 given up.
      state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)),
      -- Who works on it for a post that is published; null when nobody does.
      owner INTEGER,
      changedAt INTEGER NOT NULL,
      UNIQUE (destination, objectKey),
      CHECK (state = 0 OR owner IS NULL)
    ) STRICT;
    CREATE INDEX posterOfIntent ON poster (intent);
    CREATE INDEX posterHeld ON poster (owner) WHERE owner IS NOT NULL;
    CREATE UNIQUE INDEX posterShown ON poster (intent) WHERE state = 1;
    """
}

extension CatalogSchema {
  /// Adds a count of the changes to posts that are in the feed, and indexes by author and time.
  static let version5 = """
    ALTER TABLE feed ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
    -- A catalog that is made again, of a backup or of what the store holds, does not count from where another one did.
    UPDATE feed SET revision = abs(random() >> 12);
    CREATE TRIGGER postChanged AFTER UPDATE ON post
    BEGIN
      UPDATE feed SET revision = revision + 1 WHERE id = 1;
    END;

    CREATE INDEX intentByAuthor ON intent (author) WHERE author <> x'' AND state = 1;
    CREATE INDEX postByTime ON post (createdAt);
    """
}

extension CatalogSchema {
  /// Remembers what files were before they were mended.
  static let version6 = """
    -- What came in of a video that was mended before it was stored: the digest of the file, and the intent of what was
    -- made of it. Of one intent there may be several: files that differ only in what was taken out.
    CREATE TABLE arrival (
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      intent INTEGER NOT NULL REFERENCES intent (number),
      PRIMARY KEY (digest, intent)
    ) STRICT, WITHOUT ROWID;
    """
}

extension CatalogSchema {
  /// Excludes any Reel that makes checkpoints in SQLite's own way; see ``firstWithoutReset``.
  static let version7 = """
    -- The tables are those of version 6.
    """
}

extension CatalogSchema {
  /// Lets posts be removed, changed and moved.
  static let version8 = """
    -- A post that was removed. Its intent stays published: so its video is known when it comes again.
    CREATE TABLE removal (
      intent INTEGER PRIMARY KEY REFERENCES intent (number),
      -- As its row of post was.
      pageNumber INTEGER NOT NULL UNIQUE,
      createdAt INTEGER NOT NULL,
      document TEXT NOT NULL,
      reason TEXT,
      removedBy TEXT,
      removedAt INTEGER NOT NULL,
      keptUntil INTEGER,
      -- Whether its objects may be in the store.
      isStored INTEGER NOT NULL DEFAULT 1 CHECK (isStored IN (0, 1))
    ) STRICT;
    CREATE INDEX removalStored ON removal (pageNumber) WHERE isStored = 1;

    -- What is being done to a post, until it has been told: removal, purge, restoration, edit, move.
    CREATE TABLE change (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      intent INTEGER NOT NULL UNIQUE REFERENCES intent (number),
      kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 4),
      -- Whether it has become true.
      isDone INTEGER NOT NULL DEFAULT 0 CHECK (isDone IN (0, 1)),
      -- Of a move: where to; where from, when it is done.
      destination INTEGER REFERENCES destination (id),
      -- Of an edit: the keys that changed, a JSON array.
      keys TEXT,
      -- Who is at it; null when nobody is.
      owner INTEGER,
      CHECK ((kind = 4) = (destination IS NOT NULL))
    ) STRICT;
    CREATE INDEX changeByDestination ON change (destination);
    CREATE INDEX changeByOwner ON change (owner);

    -- Posts whose words are others than those that were published, or that came back: for whoever indexes words.
    CREATE TABLE rewording (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      pageNumber INTEGER NOT NULL,
      -- Tells it from one of the same number: a catalog that comes back from a backup counts on from there.
      mark INTEGER NOT NULL DEFAULT (random())
    ) STRICT;

    CREATE TRIGGER postGone AFTER DELETE ON post
    BEGIN
      UPDATE feed SET revision = revision + 1 WHERE id = 1;
    END;
    CREATE TRIGGER postBack AFTER INSERT ON post
    WHEN NEW.pageNumber < (SELECT lastPageNumber FROM feed WHERE id = 1)
    BEGIN
      UPDATE feed SET revision = revision + 1 WHERE id = 1;
    END;
    """
}

extension CatalogSchema {
  /// Remembers which stores posts have moved from.
  static let version9 = """
    -- The stores that a post was moved out of: there its video is known when it comes again.
    CREATE TABLE departure (
      intent INTEGER NOT NULL REFERENCES intent (number),
      destination INTEGER NOT NULL REFERENCES destination (id),
      PRIMARY KEY (intent, destination)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX departureByDestination ON departure (destination);
    """
}

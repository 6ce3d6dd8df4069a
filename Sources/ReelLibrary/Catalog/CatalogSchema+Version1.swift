extension CatalogSchema {
  /// Times are milliseconds since 1970. What is found by equality of bytes is a BLOB.
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

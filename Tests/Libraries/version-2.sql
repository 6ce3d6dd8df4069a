-- A library as Reel made it with version 2 of its tables (commit 397f46c, `sqlite3 catalog.sqlite .dump`), put together by:
--   reel ingest silent.mp4
--   reel ingest full-colour.mp4 --public-base-url https://media.example.org/v
--   REEL_DIE_AT=uploaded reel ingest hdr10.mov
--   reel ingest silent.mp4 --to elsewhere
-- @OWN@ and @ELSEWHERE@ stand for the file URLs of the two stores. What is known of files is left out.
PRAGMA application_id = 1382376812;
PRAGMA user_version = 2;
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
INSERT INTO destination VALUES(1,'@OWN@',2,19553);
INSERT INTO destination VALUES(2,'@ELSEWHERE@',1,9487);
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
INSERT INTO intent VALUES(1,X'01a204bc19a676e589dfa7fa82296fac',1,'vajDwzc9YmCaLPsmfdJLPZ.mp4',X'1c5c4bf6bc533c6d5b16bcb7652668b0653f6af90fe1c2e70b8e5561586707ea',X'',0,9487,1,1,NULL,1795375765927,1795375765929);
INSERT INTO intent VALUES(2,X'01a204bc1a7c76a7b2473d7247c5476a',1,'COV1nDyOEryBGYRW0bMj9A.mp4',X'61a360faede192f048f8878c64d9a4b1a21872ed69abb171c6b95b51fbebc307',X'',0,10066,1,1,NULL,1795375766141,1795375766143);
INSERT INTO intent VALUES(3,X'01a204bc1b577c4f8b1f66426a171a17',1,'DLwg3nHVbILpfPoa1Q1HAV.mov',X'285ffc1318f94ff80222e77efcf3035f530e8d03fda4a7df4021a7dc7031a004',X'',0,6026,0,1,3,1795375766359,1795375766359);
INSERT INTO intent VALUES(4,X'01a204bc1be77e0bb6ce252c35d3358c',2,'7x9Ji1WbJ66sJuWJsfHuaq.mp4',X'1c5c4bf6bc533c6d5b16bcb7652668b0653f6af90fe1c2e70b8e5561586707ea',X'',0,9487,1,1,NULL,1795375766504,1795375766506);
CREATE TABLE feed (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  lastPageNumber INTEGER NOT NULL
) STRICT;
INSERT INTO feed VALUES(1,3);
CREATE TABLE post (
  pageNumber INTEGER PRIMARY KEY CHECK (pageNumber >= 1),
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  intent INTEGER NOT NULL UNIQUE REFERENCES intent (number),
  createdAt INTEGER NOT NULL,
  -- The post as JSON, without what the columns say.
  document TEXT NOT NULL
) STRICT;
INSERT INTO post VALUES(1,X'01a204bc19a676e589dfa7fa82296fac',1,1795375765929,'{"music":null,"id":"01a204bc-19a6-76e5-89df-a7fa82296fac","author":null,"video":"vajDwzc9YmCaLPsmfdJLPZ.mp4","digest":"sha256:1c5c4bf6bc533c6d5b16bcb7652668b0653f6af90fe1c2e70b8e5561586707ea","shareCount":0,"videoURL":"@OWN@/vajDwzc9YmCaLPsmfdJLPZ.mp4","duration":1.001,"size":9487,"probe":{"method":"header","isolation":"landlock+seccomp","ffmpeg":"59.27.100"},"caption":null,"videoFileExtension":"mp4","commentID":"7bOodqe2DU6RLHrAYX7DC4","videoWidth":160,"likeCount":0,"pageNumber":null,"videoHeight":90,"autherName":null,"createdAt":null,"contentType":"video/mp4"}');
INSERT INTO post VALUES(2,X'01a204bc1a7c76a7b2473d7247c5476a',2,1795375766143,'{"author":null,"id":"01a204bc-1a7c-76a7-b247-3d7247c5476a","caption":null,"likeCount":0,"createdAt":null,"commentID":"KHmK5Es6J5WKVi4BUgUu2b","video":"COV1nDyOEryBGYRW0bMj9A.mp4","autherName":null,"pageNumber":null,"videoWidth":160,"duration":1,"probe":{"method":"full","isolation":"landlock+seccomp","ffmpeg":"59.27.100"},"shareCount":0,"size":10066,"videoFileExtension":"mp4","videoHeight":90,"videoURL":"https://media.example.org/v/COV1nDyOEryBGYRW0bMj9A.mp4","contentType":"video/mp4","digest":"sha256:61a360faede192f048f8878c64d9a4b1a21872ed69abb171c6b95b51fbebc307","music":null}');
INSERT INTO post VALUES(3,X'01a204bc1be77e0bb6ce252c35d3358c',4,1795375766506,'{"videoWidth":160,"caption":null,"author":null,"createdAt":null,"probe":{"ffmpeg":"59.27.100","method":"header","isolation":"landlock+seccomp"},"video":"7x9Ji1WbJ66sJuWJsfHuaq.mp4","videoHeight":90,"music":null,"id":"01a204bc-1be7-7e0b-b6ce-252c35d3358c","videoFileExtension":"mp4","duration":1.001,"size":9487,"digest":"sha256:1c5c4bf6bc533c6d5b16bcb7652668b0653f6af90fe1c2e70b8e5561586707ea","videoURL":"@ELSEWHERE@/7x9Ji1WbJ66sJuWJsfHuaq.mp4","autherName":null,"pageNumber":null,"shareCount":0,"likeCount":0,"commentID":"3j7TAjtbvT75TZez1Xr3Ic","contentType":"video/mp4"}');
CREATE TABLE outbox (
  pageNumber INTEGER PRIMARY KEY REFERENCES post (pageNumber),
  owner INTEGER NOT NULL
) STRICT;
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
CREATE TABLE checkpoint (
  destination INTEGER NOT NULL REFERENCES destination (id),
  objectKey TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  -- The store's own name for it. Whoever knows it may be able to write: it is never told.
  secret TEXT NOT NULL CHECK (length(secret) BETWEEN 1 AND 8192),
  changedAt INTEGER NOT NULL,
  PRIMARY KEY (destination, objectKey)
) STRICT, WITHOUT ROWID;
INSERT INTO sqlite_sequence VALUES('owner',4);
CREATE INDEX intentUnfinished ON intent (digest, destination, author, ordinal) WHERE state = 0;
CREATE INDEX intentHeld ON intent (owner) WHERE owner IS NOT NULL;
CREATE INDEX failureByTime ON failure (at);

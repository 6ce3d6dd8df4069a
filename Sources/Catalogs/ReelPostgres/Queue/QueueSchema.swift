import ReelCore

/// The tables of the queue.
extension PostgresSchema {
  /// Times are milliseconds since 1970, by the server's clock.
  static let queue = """
    -- What is to become a post, once. Rows don't change: its identity is looked up only when something is enqueued, so that
    -- taking and finishing touch no index that is as large as the queue and in no order.
    CREATE TABLE reel.item (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      -- SHA-256 of its address and its version.
      identity bytea NOT NULL UNIQUE CHECK (length(identity) = 32),
      -- A URL, or an absolute path, which may be any bytes.
      address bytea NOT NULL,
      version text NOT NULL,
      -- Bytes; null when nobody has said.
      size bigint CHECK (size >= 0),
      enqueued_at bigint NOT NULL
    );

    -- How each item stands.
    CREATE TABLE reel.work (
      item bigint PRIMARY KEY,
      -- The higher, the earlier.
      priority bigint NOT NULL,
      -- 0 waiting, 1 taken, 2 to be tried again later, 3 done, 4 refused, 5 failed, 6 set aside.
      state bigint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 6),
      -- Who has taken it.
      worker bigint,
      -- How often it was taken, how many workers died with it in their hands, and how often it failed.
      attempts bigint NOT NULL DEFAULT 0,
      deaths bigint NOT NULL DEFAULT 0,
      failures bigint NOT NULL DEFAULT 0,
      changed_at bigint NOT NULL,
      -- When it is to be tried again.
      due_at bigint,
      -- Its last failure, refusal or death.
      code text,
      message text,
      CHECK ((worker IS NOT NULL) = (state = 1)),
      CHECK ((due_at IS NOT NULL) = (state = 2))
    ) WITH (fillfactor = 70);
    CREATE INDEX work_waiting ON reel.work (priority DESC, item) WHERE state = 0;
    CREATE INDEX work_taken ON reel.work (worker) WHERE state = 1;
    CREATE INDEX work_later ON reel.work (due_at) WHERE state = 2;
    CREATE INDEX work_ended ON reel.work (changed_at) WHERE state > 2;

    -- Who takes items. The row goes when a worker stops, or when others find its lease over.
    CREATE TABLE reel.worker (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      host text NOT NULL,
      pid bigint NOT NULL,
      destination text NOT NULL,
      started_at bigint NOT NULL,
      lease_until bigint NOT NULL,
      -- Items that it has finished, and of these how many did not become posts.
      finished bigint NOT NULL DEFAULT 0,
      failed bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 20);
    """

  /// The first version with a queue.
  static let queueVersion = 2

  /// Tells deaths from outages, and keeps taking from passing by all that was taken before.
  static let hands = """
    -- In milliseconds; of an older Reel, which does not say, a minute.
    ALTER TABLE reel.worker ADD COLUMN lease bigint NOT NULL DEFAULT 60000;
    -- The items that it works on, of those that it has taken; null where it does not say.
    ALTER TABLE reel.worker ADD COLUMN hands bigint[];
    -- Each item is changed twice: to wait until a part of all was would leave more and more dead entries in the way.
    ALTER TABLE reel.work SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
    """

  /// One lease for a process.
  static let workerOwner = """
    -- The process that it is, whose lease is its own; null of an older Reel, which renews lease_until alone. Of any other
    -- that column is a copy, for an older Reel to look at.
    ALTER TABLE reel.worker ADD COLUMN IF NOT EXISTS owner bigint;
    """

  /// When the lease of a row of `reel.worker` ends.
  static let endOfWorkersLease =
    "coalesce((SELECT owner.lease_until FROM reel.owner WHERE owner.id = worker.owner), worker.lease_until)"
}

import ReelCore

/// The tables of the queue.
extension PostgresSchema {
  /// Times are in milliseconds since 1970, by the server's clock.
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

  /// Distinguishes deaths from outages, and keeps rows that were taken before from slowing down taking.
  static let hands = """
    -- In milliseconds; of an older Reel, which does not say, a minute.
    ALTER TABLE reel.worker ADD COLUMN lease bigint NOT NULL DEFAULT 60000;
    -- The items that it works on, of those that it has taken; null where it does not say.
    ALTER TABLE reel.worker ADD COLUMN hands bigint[];
    -- Each item is changed twice: to wait until a part of all was would leave more and more dead entries in the way.
    ALTER TABLE reel.work SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
    """

  /// Gives a process one lease.
  static let workerOwner = """
    -- The process that it is, whose lease is its own; null of an older Reel, which renews lease_until alone. Of any other
    -- that column is a copy, for an older Reel to look at.
    ALTER TABLE reel.worker ADD COLUMN IF NOT EXISTS owner bigint;
    """

  /// Adds what an operator controls: what is requested for an item, what holds items back, and what became of them.
  static let steering = """
    -- What items that are taken together have in common. Rows don't change.
    CREATE TABLE reel.lane (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      -- Empty for none.
      label text COLLATE "C" NOT NULL CHECK (octet_length(label) <= 100),
      -- Where it is to be stored, and by what; null: as the worker that takes it has it.
      destination text COLLATE "C" CHECK (octet_length(destination) BETWEEN 1 AND 1000),
      policy text COLLATE "C" CHECK (octet_length(policy) BETWEEN 1 AND 200)
    );
    CREATE UNIQUE INDEX lane_once ON reel.lane (label, coalesce(destination, ''), coalesce(policy, ''));
    -- Whose it is; null: its worker's. Not of the lane: there may be as many as there are people.
    ALTER TABLE reel.item ADD COLUMN author text COLLATE "C" CHECK (octet_length(author) BETWEEN 1 AND 1000);
    -- Of all that nothing is asked for, such as what an older Reel enqueues.
    INSERT INTO reel.lane (id, label) OVERRIDING SYSTEM VALUE VALUES (0, '');

    -- Policies that items name, so that every worker has them. One that is not here is a preset.
    CREATE TABLE reel.policy (
      name text COLLATE "C" PRIMARY KEY,
      document text NOT NULL
    );

    -- What holds items of a label back; of '*', those of any.
    CREATE TABLE reel.throttle (
      label text COLLATE "C" PRIMARY KEY,
      paused_at bigint,
      -- As many may be taken at once.
      most bigint CHECK (most >= 0)
    ) WITH (fillfactor = 50);

    ALTER TABLE reel.work
      ADD COLUMN lane bigint NOT NULL DEFAULT 0,
      -- By whom it was taken last, and when.
      ADD COLUMN taken_by text,
      ADD COLUMN taken_at bigint,
      -- The policy by which it was decided.
      ADD COLUMN policy text,
      -- That it is not to be tried again.
      ADD COLUMN is_cancelled boolean NOT NULL DEFAULT false;
    -- Besides: 7 cancelled. In state 2 are those, too, whose time was given when they were enqueued.
    ALTER TABLE reel.work DROP CONSTRAINT work_state_check;
    ALTER TABLE reel.work ADD CONSTRAINT work_state_check CHECK (state BETWEEN 0 AND 7);
    DROP INDEX reel.work_waiting;
    CREATE INDEX work_waiting ON reel.work (lane, priority DESC, item) WHERE state = 0;
    -- What was tried, beside all that is only scheduled.
    CREATE INDEX work_tried ON reel.work (lane) WHERE state = 2 AND attempts > 0;

    -- Whoever gives a cancelled item back, an older Reel too, ends it.
    CREATE FUNCTION reel.stay_cancelled() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      NEW.state := 7;
      NEW.due_at := NULL;
      RETURN NEW;
    END $$;
    CREATE TRIGGER stay_cancelled BEFORE UPDATE ON reel.work
      FOR EACH ROW WHEN (NEW.is_cancelled AND NEW.state IN (0, 2)) EXECUTE FUNCTION reel.stay_cancelled();

    -- What became of an item each time that it did not simply become a post, and what operators did about it. Rows don't
    -- change, and go with their item.
    CREATE TABLE reel.item_history (
      number bigint GENERATED ALWAYS AS IDENTITY,
      item bigint NOT NULL,
      attempt bigint NOT NULL,
      -- Null for what operators did.
      taken_by text,
      taken_at bigint,
      at bigint NOT NULL,
      -- As in reel.work, after it.
      state bigint NOT NULL,
      code text,
      message text,
      policy text,
      due_at bigint
    );
    CREATE INDEX item_history_of ON reel.item_history (item);

    ALTER TABLE reel.worker
      -- The version of these tables that it knows; null of an older Reel, which looks at no lane.
      ADD COLUMN knows bigint,
      -- What it takes; null: items of any label. What it has of its own; null: items may name any.
      ADD COLUMN labels text[],
      ADD COLUMN policy text;

    -- An older Reel that has the catalog open would take what it must not, as soon as there is such. Its items go to others.
    -- By the lock, who makes such and an older worker that begins see each other, however long their transactions are.
    CREATE FUNCTION reel.strike_out_older() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(\(olderLock));
      PERFORM FROM reel.worker WHERE knows IS NULL ORDER BY id FOR UPDATE;
      IF FOUND THEN
        UPDATE reel.work SET state = 0, worker = NULL
          WHERE state = 1 AND worker IN (SELECT id FROM reel.worker WHERE knows IS NULL);
        DELETE FROM reel.worker WHERE knows IS NULL;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER strike_out_older AFTER INSERT ON reel.lane
      FOR EACH STATEMENT EXECUTE FUNCTION reel.strike_out_older();
    CREATE TRIGGER strike_out_older AFTER INSERT ON reel.throttle
      FOR EACH STATEMENT EXECUTE FUNCTION reel.strike_out_older();
    CREATE FUNCTION reel.refuse_older() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock(\(olderLock));
      IF EXISTS (SELECT FROM reel.lane WHERE id <> 0) OR EXISTS (SELECT FROM reel.throttle) THEN
        RAISE EXCEPTION 'the queue has labels, destinations or pauses that this version of Reel does not know: update it';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER refuse_older BEFORE INSERT ON reel.worker
      FOR EACH ROW WHEN (NEW.knows IS NULL) EXECUTE FUNCTION reel.refuse_older();

    -- The lane of these, which is made where there is none. It is not removed before the transaction ends.
    CREATE FUNCTION reel.lane_of(label text, destination text, policy text) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    DECLARE found_id bigint;
    BEGIN
      IF lane_of.label = '' AND lane_of.destination IS NULL AND lane_of.policy IS NULL THEN RETURN 0; END IF;
      PERFORM pg_advisory_xact_lock_shared(\(laneLock));
      LOOP
        SELECT lane.id INTO found_id FROM reel.lane
          WHERE lane.label = lane_of.label AND coalesce(lane.destination, '') = coalesce(lane_of.destination, '')
            AND coalesce(lane.policy, '') = coalesce(lane_of.policy, '');
        IF FOUND THEN
          -- What an older snapshot shows may be gone: then the transaction has to be repeated (40001).
          IF current_setting('transaction_isolation') <> 'read committed' THEN
            PERFORM FROM reel.lane WHERE id = found_id FOR KEY SHARE;
          END IF;
          RETURN found_id;
        END IF;
        INSERT INTO reel.lane (label, destination, policy)
          VALUES (lane_of.label, lane_of.destination, lane_of.policy) ON CONFLICT DO NOTHING;
      END LOOP;
    END $$;

    -- For apps, in their own transactions: docs/queue.md. It stays as it is; what it can't do gets another name.
    CREATE FUNCTION reel.enqueue(
      address text, version text DEFAULT NULL, size bigint DEFAULT NULL, label text DEFAULT '', priority bigint DEFAULT 0,
      destination text DEFAULT NULL, policy text DEFAULT NULL, author text DEFAULT NULL, at timestamptz DEFAULT NULL
    ) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
      nul CONSTANT bytea := decode('00', 'hex');
      now_ms CONSTANT bigint := extract(epoch FROM clock_timestamp()) * 1000;
      due bigint;
      key bytea;
      new_id bigint;
      lane_id bigint;
    BEGIN
      destination := nullif(enqueue.destination, '');
      policy := nullif(enqueue.policy, '');
      author := nullif(enqueue.author, '');
      IF enqueue.address IS NULL OR NOT enqueue.address ~ '^(/|(https?|s3|s3[+]https?)://.)' OR octet_length(enqueue.address) > 8000 THEN
        RAISE EXCEPTION 'reel.enqueue: the address must be an absolute path, or begin with s3://, https:// or the like'
          USING ERRCODE = '22023';
      ELSIF left(enqueue.address, 1) = '/' AND enqueue.address ~ '(//|/[.]{1,2}/|/[.]{0,2}$)' THEN
        RAISE EXCEPTION 'reel.enqueue: the path must be written without //, /./ and /../, and name a file'
          USING ERRCODE = '22023';
      ELSIF left(enqueue.address, 1) <> '/' AND enqueue.address ~ '[?]|^[a-z0-9+]+://[^/]*@' THEN
        RAISE EXCEPTION 'reel.enqueue: an address has no name and password, and no ?: what follows may be a signature'
          USING ERRCODE = '22023';
      ELSIF octet_length(enqueue.version) > 1000 OR octet_length(enqueue.destination) > 1000
        OR octet_length(enqueue.author) > 1000 OR octet_length(enqueue.policy) > 200 THEN
        RAISE EXCEPTION 'reel.enqueue: a version, a destination or an author is up to 1000 bytes long, a policy''s name up to 200'
          USING ERRCODE = '22023';
      ELSIF NOT enqueue.destination ~ '^[a-z][a-z0-9+]*:.' OR enqueue.destination ~ '^(file|s3|s3[+]https?):.*/$' THEN
        RAISE EXCEPTION 'reel.enqueue: a destination is written as reel status names it: file:///srv/media, s3://media/2026'
          USING ERRCODE = '22023';
      ELSIF NOT isfinite(enqueue.at) THEN
        RAISE EXCEPTION 'reel.enqueue: at is a time' USING ERRCODE = '22023';
      ELSIF enqueue.label IS NULL OR NOT enqueue.label ~ '^([A-Za-z0-9][A-Za-z0-9._:/@-]{0,99})?$' THEN
        RAISE EXCEPTION 'reel.enqueue: a label is up to 100 letters, digits and . _ : / @ -, and begins with a letter or digit'
          USING ERRCODE = '22023';
      ELSIF enqueue.size < 0 THEN
        RAISE EXCEPTION 'reel.enqueue: the size is a number of bytes, from 0' USING ERRCODE = '22023';
      ELSIF NOT enqueue.policy ~ '^[a-z0-9-]+$' AND NOT EXISTS (SELECT FROM reel.policy p WHERE p.name = enqueue.policy) THEN
        RAISE EXCEPTION 'reel.enqueue: there is no policy %; reel enqueue --policy makes a file known', enqueue.policy
          USING ERRCODE = '22023';
      END IF;
      key := convert_to(enqueue.address, 'UTF8') || nul || convert_to(coalesce(enqueue.version, ''), 'UTF8');
      IF coalesce(enqueue.destination, enqueue.author) IS NOT NULL THEN
        key := key || nul || convert_to(coalesce(enqueue.destination, ''), 'UTF8')
          || nul || convert_to(coalesce(enqueue.author, ''), 'UTF8');
      END IF;
      key := sha256(key);
      due := extract(epoch FROM enqueue.at) * 1000;
      LOOP
        INSERT INTO reel.item (identity, address, version, size, enqueued_at, author)
          VALUES (key, convert_to(enqueue.address, 'UTF8'), coalesce(enqueue.version, ''), enqueue.size, now_ms, enqueue.author)
          ON CONFLICT (identity) DO NOTHING RETURNING id INTO new_id;
        EXIT WHEN new_id IS NOT NULL;
        SELECT item.id INTO new_id FROM reel.item WHERE identity = key;
        -- Else it was forgotten in between.
        IF FOUND THEN RETURN new_id; END IF;
      END LOOP;
      lane_id := reel.lane_of(enqueue.label, enqueue.destination, enqueue.policy);
      INSERT INTO reel.work (item, priority, changed_at, lane, state, due_at)
        VALUES (new_id, coalesce(enqueue.priority, 0), now_ms, lane_id,
          CASE WHEN due > now_ms THEN 2 ELSE 0 END, CASE WHEN due > now_ms THEN due END);
      IF due > now_ms THEN RETURN new_id; END IF;
      -- Whoever waits looks, as not everybody may take it.
      PERFORM pg_notify('reel_queue', '1 0');
      RETURN new_id;
    END $$;
    REVOKE ALL ON FUNCTION reel.enqueue FROM PUBLIC;
    """

  /// The keys of advisory locks: between older workers and new lanes or throttles;
  /// between lanes in use and their removal.
  private static let olderLock: Int64 = 5_202_010_901
  static let laneLock: Int64 = 5_202_010_902

  /// An expression for the end of the lease of a row of `reel.worker`.
  static let endOfWorkersLease =
    "coalesce((SELECT owner.lease_until FROM reel.owner WHERE owner.id = worker.owner), worker.lease_until)"
}

-- Everything of one namespace. Made under a lock at the first start, by whoever comes first.

CREATE TABLE IF NOT EXISTS {ns}_mark (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    format  text    NOT NULL,
    id      text    NOT NULL,
    fence   text    NOT NULL,
    origin  text    NOT NULL,
    commits bigint  NOT NULL,
    lost    boolean NOT NULL DEFAULT false
);

-- Values are small or were bounded by the gate; ids are digests.
CREATE TABLE IF NOT EXISTS {ns}_entry (
    space smallint NOT NULL,
    id    bytea    NOT NULL,
    value bytea    NOT NULL,
    until bigint   NOT NULL,
    PRIMARY KEY (space, id)
);
CREATE INDEX IF NOT EXISTS {ns}_entry_until ON {ns}_entry (until);

-- A count is a sum for each end, and in the row with end 0 their total.
CREATE TABLE IF NOT EXISTS {ns}_count (
    id   bytea  NOT NULL,
    ends bigint NOT NULL,
    sum  bigint NOT NULL,
    PRIMARY KEY (id, ends)
);
CREATE INDEX IF NOT EXISTS {ns}_count_ends ON {ns}_count (ends) WHERE ends > 0;

-- The mark of the store, locked until the end of the transaction: commits of all processes stand in one line, so what
-- a commit judges is what every commit before it left. The line is short because processes hand in commits together.
CREATE OR REPLACE FUNCTION {ns}_lock_1(known text, seen bigint) RETURNS {ns}_mark
LANGUAGE plpgsql AS $body$
DECLARE
    mark {ns}_mark;
BEGIN
    -- Each statement has to see what was committed while the lock was waited for.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'isolation' USING ERRCODE = 'PC001';
    END IF;
    -- Durable before it is answered, whatever the session says; a stronger setting stays.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT * INTO mark FROM {ns}_mark FOR UPDATE;
    IF mark.id = known AND mark.commits < seen THEN
        UPDATE {ns}_mark SET lost = true;
        mark.lost := true;
    END IF;
    RETURN mark;
END
$body$;

-- Commits, one after the other, each all or nothing. A commit is an object: `n` now, `e` [[space, id, value or null]],
-- `c` [[id, add, end, max]], `p` [[space, id, value, until]], `d` [[space, id]]; bytes are hexadecimal.
-- The answer has for each [0], [1, place, value] or [2, place].
CREATE OR REPLACE FUNCTION {ns}_commit_1(known text, seen bigint, batch jsonb, OUT same boolean, OUT mark {ns}_mark, OUT said jsonb)
LANGUAGE plpgsql AS $body$
DECLARE
    txn   jsonb;
    item  jsonb;
    now_  bigint;
    place int;
    key   bytea;
    held  bytea;
    total bigint;
    more  jsonb;
    once  jsonb;
    old   bigint;
BEGIN
    mark := {ns}_lock_1(known, seen);
    same := coalesce(mark.id = known AND NOT mark.lost, false);
    said := '[]';
    IF NOT same THEN
        RETURN;
    END IF;
    FOR txn IN SELECT value FROM jsonb_array_elements(batch) LOOP
        once := NULL;
        now_ := (txn->>'n')::bigint;
        place := 0;
        FOR item IN SELECT value FROM jsonb_array_elements(txn->'e') LOOP
            SELECT e.value INTO held FROM {ns}_entry e
                WHERE e.space = (item->>0)::smallint AND e.id = decode(item->>1, 'hex') AND e.until > now_;
            IF (item->>2 IS NULL) = FOUND OR held <> decode(item->>2, 'hex') THEN
                once := jsonb_build_array(1, place, CASE WHEN FOUND THEN encode(held, 'hex') END);
                EXIT;
            END IF;
            place := place + 1;
        END LOOP;
        place := 0;
        more := '{}';
        IF once IS NULL THEN
            FOR item IN SELECT value FROM jsonb_array_elements(txn->'c') LOOP
                key := decode(item->>0, 'hex');
                total := coalesce((SELECT sum FROM {ns}_count WHERE id = key AND ends = 0), 0)
                    - coalesce((SELECT sum(sum) FROM {ns}_count WHERE id = key AND ends > 0 AND ends <= now_), 0)
                    + coalesce((more->>(item->>0))::bigint, 0) + (item->>1)::bigint;
                IF (item->>1)::bigint > 0 AND total > (item->>3)::bigint THEN
                    once := jsonb_build_array(2, place);
                    EXIT;
                END IF;
                more := jsonb_set(more, ARRAY[item->>0], to_jsonb(coalesce((more->>(item->>0))::bigint, 0) + (item->>1)::bigint));
                place := place + 1;
            END LOOP;
        END IF;
        IF once IS NULL THEN
            FOR item IN SELECT value FROM jsonb_array_elements(txn->'c') LOOP
                CONTINUE WHEN (item->>2)::bigint <= now_;
                key := decode(item->>0, 'hex');
                WITH gone AS (DELETE FROM {ns}_count c WHERE c.id = key AND c.ends > 0 AND c.ends <= now_ RETURNING c.sum)
                    SELECT coalesce(sum(gone.sum), 0) INTO total FROM gone;
                old := coalesce((SELECT sum FROM {ns}_count WHERE id = key AND ends = (item->>2)::bigint), 0);
                IF old + (item->>1)::bigint > 0 THEN
                    INSERT INTO {ns}_count VALUES (key, (item->>2)::bigint, old + (item->>1)::bigint)
                        ON CONFLICT (id, ends) DO UPDATE SET sum = excluded.sum;
                ELSE
                    DELETE FROM {ns}_count WHERE id = key AND ends = (item->>2)::bigint;
                END IF;
                total := greatest(0, old + (item->>1)::bigint) - old - total;
                INSERT INTO {ns}_count AS c VALUES (key, 0, greatest(0, total))
                    ON CONFLICT (id, ends) DO UPDATE SET sum = greatest(0, c.sum + total);
            END LOOP;
            FOR item IN SELECT value FROM jsonb_array_elements(txn->'d') LOOP
                DELETE FROM {ns}_entry WHERE space = (item->>0)::smallint AND id = decode(item->>1, 'hex');
            END LOOP;
            FOR item IN SELECT value FROM jsonb_array_elements(txn->'p') LOOP
                INSERT INTO {ns}_entry
                    VALUES ((item->>0)::smallint, decode(item->>1, 'hex'), decode(item->>2, 'hex'), (item->>3)::bigint)
                    ON CONFLICT (space, id) DO UPDATE SET value = excluded.value, until = excluded.until;
            END LOOP;
            mark.commits := mark.commits + 1;
            once := '[0]';
        END IF;
        said := said || jsonb_build_array(once);
    END LOOP;
    UPDATE {ns}_mark SET commits = mark.commits;
END
$body$;

-- Removes at most so many entries that have ended, and what has ended of counts. The answer is how many entries.
CREATE OR REPLACE FUNCTION {ns}_sweep_1(known text, seen bigint, now_ bigint, most int, OUT same boolean, OUT mark {ns}_mark, OUT removed bigint)
LANGUAGE plpgsql AS $body$
BEGIN
    mark := {ns}_lock_1(known, seen);
    same := coalesce(mark.id = known AND NOT mark.lost, false);
    removed := 0;
    IF NOT same THEN
        RETURN;
    END IF;
    WITH gone AS (DELETE FROM {ns}_count WHERE (id, ends) IN
            (SELECT id, ends FROM {ns}_count WHERE ends > 0 AND ends <= now_ LIMIT most) RETURNING id, sum),
        per AS (SELECT id, sum(sum) AS sum FROM gone GROUP BY id)
        UPDATE {ns}_count c SET sum = greatest(0, c.sum - per.sum) FROM per WHERE c.id = per.id AND c.ends = 0;
    DELETE FROM {ns}_count WHERE (id, ends) IN (SELECT c.id, c.ends FROM {ns}_count c
        WHERE c.ends = 0 AND c.sum = 0 AND NOT EXISTS (SELECT 1 FROM {ns}_count o WHERE o.id = c.id AND o.ends > 0) LIMIT most);
    WITH gone AS (DELETE FROM {ns}_entry WHERE (space, id) IN
            (SELECT space, id FROM {ns}_entry WHERE until <= now_ LIMIT most) RETURNING 1)
        SELECT count(*) INTO removed FROM gone;
END
$body$;

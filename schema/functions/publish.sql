CREATE OR REPLACE FUNCTION howdah.publish(channel bytea, message bytea) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wanted   boolean;  -- by a process that has subscribers
    notified boolean;
BEGIN
    PERFORM howdah_internal._check_key(channel), howdah_internal._check_value(message);
    SELECT count(*) > 0, coalesce(bool_or(s.notified), false) INTO wanted, notified
    FROM howdah_internal.server AS s
    WHERE s.kinds & (1 << 1) <> 0 AND s.renewed_at > statement_timestamp() - interval '15 seconds';
    -- A process may have its first subscriber before this commits. But where there are no
    -- processes, and every transaction is one of several statements, nothing is removed.
    IF NOT wanted AND pg_table_size('howdah_internal.bus'::regclass) > 67108864 THEN
        RETURN;
    END IF;
    INSERT INTO howdah_internal.bus (sender, kinds, channels, payloads)
    VALUES (0, '{1}', ARRAY[channel], ARRAY[message]);
    -- NOTIFY makes commits wait for each other: not for those who poll. One that begins
    -- to listen before this commit polls within a second.
    IF notified THEN
        PERFORM pg_notify('howdah', '');
    END IF;
    -- So that the table stays short where howdah.maintain is not called. In a transaction
    -- of several statements no other one could until its end. The extended protocol begins
    -- a transaction a moment before its only statement.
    IF random() < 0.02 AND statement_timestamp() - transaction_timestamp() < interval '200 microseconds' THEN
        PERFORM howdah_internal._trim_log(clock_timestamp() + interval '10 milliseconds');
    END IF;
END
$$;

COMMENT ON FUNCTION howdah.publish(bytea, bytea) IS
'Publishes a message to the subscribers of a channel, as PUBLISH of Redis does. They get
it when the transaction commits, and never if it is rolled back. Subscribers are the
clients of howdah serve that used SUBSCRIBE or PSUBSCRIBE, and programs that called
DB.Subscribe. A subscriber that is not there at that moment gets nothing, and messages
on their way are lost if PostgreSQL crashes: what must not be lost belongs in a table.

While no process has subscribers, messages are written all the same, for those that
subscribe before the transaction commits; once their table is larger than 64 MiB, they
are not.

Messages of one transaction arrive in their order, and so do those of transactions that
follow one another. While there are subscribers, transactions that publish commit one at a
time, as with NOTIFY, which it uses, and cannot be prepared (PREPARE TRANSACTION).

channel: at most 65536 bytes.
message: at most 512 MiB, which is sent to each process that has subscribers.

Errors: HW007 channel too long, HW008 message too large, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.publish(bytea, bytea) FROM PUBLIC;

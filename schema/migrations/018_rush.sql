-- A process to which many messages come polls for them in short steps, and asks for no
-- notifications meanwhile. Programs of schema 17 go on: their rows say false.
ALTER TABLE howdah_internal.server
    ADD COLUMN rushing boolean NOT NULL DEFAULT false;  -- notified is false for that reason alone

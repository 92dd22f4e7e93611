CREATE OR REPLACE FUNCTION howdah_internal._unpack(kind smallint, packed bytea)
RETURNS TABLE (place bigint, element bytea, value bytea, score double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
-- As internal/values/codec.go packs it. The first byte is the format: 1, or 2 of a hash
-- whose fields have expiries. A text is its length, seven bits in a byte and
-- the lowest first, and its bytes.
DECLARE
    size     CONSTANT integer := octet_length(packed);
    expiring boolean := false;
    texts    CONSTANT integer := CASE kind WHEN 1 THEN 2 ELSE 1 END;
    position integer := 1;  -- of the next byte, from 0
    digit    integer;
    shift    integer;
    length   bigint;
    piece    bytea;
    expiry   bigint := 0;
    now      CONSTANT bigint := floor(extract(epoch FROM statement_timestamp()) * 1000);
BEGIN
    IF packed IS NULL THEN
        RETURN;
    END IF;
    expiring := kind = 1 AND get_byte(packed, 0) = 2;
    IF get_byte(packed, 0) <> 1 AND NOT expiring THEN
        RAISE EXCEPTION 'The packed value has the unknown format %.', get_byte(packed, 0)
            USING ERRCODE = 'data_corrupted', HINT = 'A newer program may have stored it.';
    END IF;
    place := 0;
    WHILE position < size LOOP
        IF kind = 4 THEN
            score := howdah_internal._double(substring(packed FROM position + 1 FOR 8));
            position := position + 8;
        END IF;
        FOR n IN 1..texts LOOP
            length := 0;
            shift := 0;
            LOOP
                digit := get_byte(packed, position);
                position := position + 1;
                length := length | ((digit & 127)::bigint << shift);
                EXIT WHEN digit < 128;
                shift := shift + 7;
            END LOOP;
            IF position + length > size THEN
                RAISE EXCEPTION 'The packed value ends before its elements do.'
                    USING ERRCODE = 'data_corrupted', HINT = 'Delete the key.';
            END IF;
            piece := substring(packed FROM position + 1 FOR length::integer);
            position := position + length::integer;
            IF n = 1 THEN
                element := piece;
            ELSE
                value := piece;
            END IF;
        END LOOP;
        IF expiring THEN
            expiry := ('x' || encode(substring(packed FROM position + 1 FOR 8), 'hex'))::bit(64)::bigint;
            position := position + 8;
        END IF;
        CONTINUE WHEN expiry > 0 AND expiry <= now;
        RETURN NEXT;
        place := place + 1;
    END LOOP;
END
$$;

COMMENT ON FUNCTION howdah_internal._unpack(smallint, bytea) IS
'Internal. The elements of a packed collection in their order, counted from 0: of a hash the
fields with their values, without those that have expired; of a sorted set the members with
their scores.';

REVOKE ALL ON FUNCTION howdah_internal._unpack(smallint, bytea) FROM PUBLIC;

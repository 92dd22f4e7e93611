CREATE OR REPLACE FUNCTION howdah_internal._check_expression(relation regclass, expression text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- EXPLAIN evaluates it for no row. Triggers find no value in VIRTUAL columns.
    EXECUTE format('EXPLAIN SELECT unnest(%3$s) FROM (SELECT %4$s FROM %1$s) AS %2$I',
                   relation, (SELECT c.relname FROM pg_class AS c WHERE c.oid = relation),
                   howdah_internal._watch_keys(expression),
                   (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
                    WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v'));
EXCEPTION
    WHEN syntax_error_or_access_rule_violation OR feature_not_supported THEN
        RAISE EXCEPTION 'The expression % is not valid for table %: %.', expression, relation, SQLERRM
            USING ERRCODE = SQLSTATE,
                  HINT = 'Give an expression over the columns of the table, but for VIRTUAL ones, that is a text or a text[]; name functions with their schema.';
END
$$;

COMMENT ON FUNCTION howdah_internal._check_expression(regclass, text) IS
'Internal. Raises the error of an expression that cannot be evaluated for the rows of a
table. It runs with the rights of the caller, whose expression it is.';

REVOKE ALL ON FUNCTION howdah_internal._check_expression(regclass, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION howdah_internal._check_expression(relation regclass, expression text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- EXPLAIN evaluates it for no row.
    EXECUTE format('EXPLAIN SELECT unnest(%3$s) FROM (SELECT * FROM %1$s) AS %2$I',
                   relation, (SELECT c.relname FROM pg_class AS c WHERE c.oid = relation),
                   howdah_internal._watch_keys(expression));
EXCEPTION
    WHEN syntax_error_or_access_rule_violation OR feature_not_supported THEN
        RAISE EXCEPTION 'The expression % is not valid for table %: %.', expression, relation, SQLERRM
            USING ERRCODE = SQLSTATE,
                  HINT = 'Give an expression over the columns of the table that is a text or a text[]; name functions with their schema.';
END
$$;

COMMENT ON FUNCTION howdah_internal._check_expression(regclass, text) IS
'Internal. Raises the error of an expression that cannot be evaluated for the rows of a
table. It runs with the rights of the caller, whose expression it is.';

REVOKE ALL ON FUNCTION howdah_internal._check_expression(regclass, text) FROM PUBLIC;

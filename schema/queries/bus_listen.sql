-- Asks for the notifications of messages, on a connection that is silent for as long as
-- there are none.
SET idle_session_timeout = 0;
LISTEN howdah

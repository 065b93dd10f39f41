-- Whose lanes these are: under another APP_ID a tool fences nobody, and writes a ledger that nobody reads.
alter table topology add column app_id text; -- null: no processor has started since

-- What an audit looks at, so that one that was stopped does not go on with something else.
alter table audit_runs add column scope jsonb;

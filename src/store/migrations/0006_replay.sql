-- Replays that are asked for over HTTP: whichever api finds them sends them.
alter table replay_runs
  add column merchant text, -- the only one whose letters were chosen
  add column idempotency_key text, -- of the request
  add column body_hash bytea,
  add column plan jsonb, -- what was answered: how many, by reason, and what was refused
  add column trouble text, -- why the last try to send did not get on
  add column stopped_at timestamptz, -- trouble that trying again does not mend: a person resumes it
  add constraint replay_runs_key check ((idempotency_key is null) = (body_hash is null));
create unique index replay_runs_by_key on replay_runs (coalesce(merchant, ''), idempotency_key)
  where idempotency_key is not null;
create index replays_unsent on replays (run_id) where sent_at is null;

-- quarantined: it failed again, and not for the first time.
alter table replays
  drop constraint replays_result_check,
  add constraint replays_result_check
    check (result in ('applied', 'held', 'anomaly', 'duplicate', 'refused', 'failed_again', 'quarantined'));

-- What `paidonce audit run` found, and how far it came.

create table audit_runs (
  id bigint generated always as identity primary key,
  actor text not null,
  since timestamptz not null,
  until timestamptz not null, -- what is younger is not judged
  started_at timestamptz not null default now(),
  finished_at timestamptz, -- null: it runs, or was stopped; --resume goes on
  result text check (result in ('ok', 'findings', 'undecided')),
  digest text, -- equal for equal data
  report jsonb, -- counts, how much was judged, what could not be
  orders_after bigint not null default 0, -- the last order that was judged
  orders jsonb -- what its orders came to so far
);

-- A lane that is judged: a run that goes on leaves it out.
create table audit_lanes (
  run_id bigint not null,
  lane smallint not null,
  report jsonb not null,
  primary key (run_id, lane)
);

create table audit_findings (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  lane smallint, -- null: of an order
  finding text not null check (finding in ('missing', 'duplicate', 'amount_mismatch', 'extra', 'late')),
  document jsonb not null
);
create index audit_findings_run on audit_findings (run_id, id);

-- Numbers that are out and that a lane set back has not derived again: no two have the same.
create unique index imported_events_lane on imported_events (lane, lane_seq);

-- What `paidonce bill import` found; see docs/bill.md.

create table bill_runs (
  id bigint generated always as identity primary key,
  actor text not null,
  provider text not null,
  merchant text collate "C" not null,
  day date not null, -- China's
  files_sha256 text not null, -- over the digests of its files
  started_at timestamptz not null default now(),
  finished_at timestamptz, -- null: it runs, or was stopped; it is run again from the beginning
  result text check (result in ('ok', 'findings', 'undecided')),
  digest text, -- equal for equal bills and equal books
  report jsonb, -- counts, sums, what could not be judged
  superseded_by bigint -- a later run of the same merchant, provider and day, whose findings count instead
);
create index bill_runs_day on bill_runs (merchant, provider, day);

create table bill_findings (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  finding text not null check (finding in ('missing_here', 'not_there', 'amount_differs', 'currency_differs',
    'status_differs', 'refund_unsettled', 'twice_there', 'unreadable')),
  state text not null check (state in ('open', 'unconfirmed', 'denied', 'confirmed', 'published')),
  document jsonb not null
);
create index bill_findings_run on bill_findings (run_id, id);

-- Rows of a bill that a fact of a later day may belong to: those at the day's end, and refunds, which stand in the bill
-- of the day when they were asked for.
create table bill_seen (
  run_id bigint not null,
  key text collate "C" not null, -- as in `payment/wechatpay:4200…`
  primary key (run_id, key)
);

-- A bill asks what was paid on one day. A block range index: a few KB for a million facts, and next to nothing to keep.
-- Several ranges each, as facts are put where archived ones were.
create index facts_event_time on facts using brin (event_time timestamptz_minmax_multi_ops) with (autosummarize = on);

-- Brakes keep events back before they are numbered. A rule matches what all its given parts match.
create table brakes (
  id bigint generated always as identity primary key,
  merchant text collate "C" check (octet_length(merchant) between 1 and 64),
  out_trade_no text collate "C" check (octet_length(out_trade_no) between 1 and 64),
  event_type text check (octet_length(event_type) between 1 and 32),
  set_by text not null,
  reason text not null,
  set_at timestamptz not null default now(),
  told_at timestamptz, -- every lane has been told
  released_by text,
  release_reason text,
  released_at timestamptz, -- it matches nothing any more; what waits for it is numbered by the lanes
  release_told_at timestamptz,
  done_at timestamptz, -- nothing waits for it any more
  constraint brakes_scope check (merchant is not null or event_type is not null),
  constraint brakes_order check (out_trade_no is null or merchant is not null)
);
create unique index brakes_set on brakes (coalesce(merchant, ''), coalesce(out_trade_no, ''), coalesce(event_type, ''))
  where released_at is null;
create index brakes_open on brakes (id) where done_at is null;

-- Which lanes have been told of a brake, each in a transaction of its own.
create table brake_lanes (
  brake_id bigint not null,
  lane smallint not null,
  stop_seq bigint not null, -- events of the lane below it still go out
  is_released boolean not null default false,
  primary key (brake_id, lane)
);

-- As in events, without a number. received_at is missing: how long a callback took says nothing about one that waited.
create table waiting_events (
  id bigint generated always as identity primary key, -- within a lane: the order in which they were decided
  lane smallint not null,
  brake_id bigint not null, -- the brake that it matches, or the one that the order's event before it waits for
  topic text not null,
  event_id uuid not null,
  kind text not null,
  order_id bigint,
  merchant text,
  key text not null,
  sequence int,
  cause text not null,
  amount_minor bigint,
  currency text,
  payment_ref text,
  occurred_at timestamptz not null,
  attrs text,
  traceparent text,
  created_at timestamptz not null default now()
);
create index waiting_events_brake on waiting_events (lane, brake_id, id);
create index waiting_events_order on waiting_events (order_id, id);

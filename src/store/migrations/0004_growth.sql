-- Finished orders leave `orders`, `facts`, `anomalies` and `commands` after a long time; see store/archive-orders.ts.

-- One row is one order with all that belonged to it. A document and no columns: a table that gains a column later needs
-- no change here, and what it had is kept. By month, so that a month can be exported and dropped.
create table archived_orders (
  month date not null, -- the first day of the month in which it was archived
  order_id bigint not null,
  archived_at timestamptz not null,
  document jsonb not null, -- {order, payload, facts, anomalies, commands}, each row as it stood
  primary key (order_id, month)
) partition by range (month);

-- Archiving asks for the commands of its orders; wake items, one for each new order, come and go too often to be in it.
create index commands_order on commands (order_id) where kind <> 'wake';

-- What stays for ever, so that a late duplicate is told from news even when the month above is gone.
alter table tombstones
  add column order_id bigint, -- as in `archived_orders`, `deliveries` and `events`
  add column month date, -- of `archived_orders`
  add column facts bytea not null default ''; -- 8 bytes of each fact's fingerprint: store/fingerprint.ts

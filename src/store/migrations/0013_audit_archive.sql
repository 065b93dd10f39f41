-- The audit judges archived orders too: a window has those that changed in it.

alter table archived_orders add column changed_at timestamptz; -- of the order; null: archived before there was this column
create index archived_orders_changed on archived_orders (coalesce(changed_at, archived_at));
-- A month that was dropped leaves its tombstones. They come in the order of months, so a few bytes are enough.
create index tombstones_month on tombstones using brin (month);

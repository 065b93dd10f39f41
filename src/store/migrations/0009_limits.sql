-- What is settled goes after a long time, in small steps: see store/remove-aged.ts.
create index dead_letters_settled on dead_letters (closed_at) where status in ('replayed', 'discarded');
create index brakes_done on brakes (done_at) where done_at is not null;
-- A group goes with its last order. Neither column changes once an order has its terms, so that updates stay HOT.
create index orders_group on orders (merchant, group_key) where group_key is not null;

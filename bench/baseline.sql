create table purchases (
  merchant text not null, out_trade_no text not null, status text not null, amount_minor bigint not null,
  paid_ref text, updated_at timestamptz not null default now(), primary key (merchant, out_trade_no)
) with (fillfactor = 70);
create table seen (merchant text not null, out_trade_no text not null, ref text not null, primary key (merchant, out_trade_no, ref));
create table outbox (id bigint generated always as identity primary key, key text not null, body jsonb not null);

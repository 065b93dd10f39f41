import type pg from 'pg'
import { transaction, type Queryable } from '../runtime/postgres.ts'

/** Any number that nothing else locks. */
const LOCK = 5_180_264_417
const VERSION = 'paidonce 3'

/**
 * `inbox` is both the dedupe and the queue: a row is made once per event id, in the transaction that moves the
 * position, and is settled in the transaction of its effect. Times are the database's own, so that consumers need no
 * common clock.
 */
const TABLES = `
create schema if not exists paidonce_consumer;

create sequence if not exists paidonce_consumer.fence;

create table if not exists paidonce_consumer.inbox (
  consumer text not null,
  event_id text not null,
  seq bigint generated always as identity,
  order_key text not null,
  lane integer not null,
  record_offset bigint not null,
  event text,
  state text not null default 'waiting'
    check (state in ('waiting', 'calling', 'asking', 'unsettled', 'done', 'dead')),
  due_at timestamptz not null default clock_timestamp(),
  fence bigint not null default 0,
  called_at timestamptz,
  attempts integer not null default 0,
  asks integer not null default 0,
  reason text,
  reference text,
  taken_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  begun_by text,
  begun_at timestamptz,
  begun_alone boolean not null default false,
  kills integer not null default 0,
  primary key (consumer, event_id)
);
create index if not exists inbox_due on paidonce_consumer.inbox (consumer, lane, due_at) where settled_at is null;
create index if not exists inbox_open_of_order on paidonce_consumer.inbox (consumer, order_key, seq)
  where settled_at is null;
create index if not exists inbox_done on paidonce_consumer.inbox (consumer, settled_at) where state = 'done';

create table if not exists paidonce_consumer.positions (
  consumer text not null,
  topic text not null,
  lane integer not null,
  next_offset bigint not null,
  topic_id text,
  taken_by text,
  primary key (consumer, topic, lane)
);

create table if not exists paidonce_consumer.dead_letters (
  consumer text not null,
  topic text not null,
  lane integer not null,
  record_offset bigint not null,
  event_id text,
  order_key text,
  kind text not null,
  reason text not null,
  value bytea,
  at timestamptz not null default clock_timestamp(),
  primary key (consumer, topic, lane, record_offset)
);

create table if not exists paidonce_consumer.reports (
  id text primary key,
  seq bigint generated always as identity,
  consumer text not null,
  merchant text not null,
  order_key text not null,
  body text not null,
  attempts integer not null default 0,
  due_at timestamptz not null default clock_timestamp(),
  last_answer text,
  sent_at timestamptz
);
create index if not exists reports_due on paidonce_consumer.reports (consumer, due_at) where sent_at is null;
create index if not exists reports_of_order on paidonce_consumer.reports (consumer, order_key, seq)
  where sent_at is null;
create index if not exists reports_sent on paidonce_consumer.reports (consumer, sent_at) where sent_at is not null;

alter table paidonce_consumer.positions add column if not exists topic_id text,
  add column if not exists taken_by text;
alter table paidonce_consumer.inbox add column if not exists begun_by text,
  add column if not exists begun_at timestamptz,
  add column if not exists begun_alone boolean not null default false,
  add column if not exists kills integer not null default 0;
alter table paidonce_consumer.dead_letters drop constraint if exists dead_letters_kind_check,
  add constraint dead_letters_kind_check
    check (kind in ('refused', 'poison', 'gave_up', 'no_effect_for_kind', 'killed_process', 'undecodable'));
drop index if exists paidonce_consumer.inbox_settled;
comment on schema paidonce_consumer is '${VERSION}';
`

/**
 * Makes the kit's tables in the consumer's own database, in a schema of their own; safe to run again and by several.
 * Where they are there already nothing is locked, as that deadlocks with those at work, and no right to make tables is
 * needed.
 */
export async function createTables(pool: pg.Pool): Promise<void> {
  if (await areThere(pool)) return
  await transaction(pool, async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
    if (!(await areThere(tx))) await tx.query(TABLES)
  })
}

async function areThere(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ version: string | null }>(
    `select obj_description(to_regnamespace('paidonce_consumer')::oid, 'pg_namespace') as version`,
  )
  return rows[0]?.version === VERSION
}

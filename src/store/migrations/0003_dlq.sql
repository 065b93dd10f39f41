-- Dead letters that can be worked with, and records that kill their owners.

-- What a record said, where it could be decoded: so that a person finds a merchant's dead letters, and sees no other's.
alter table dead_letters
  add column merchant text,
  add column out_trade_no text,
  add column provider text,
  add column message_type text,
  add column replay_id bigint, -- it came by this replay, and failed again
  drop constraint dead_letters_status_check,
  add constraint dead_letters_status_check check (status in ('open', 'replaying', 'replayed', 'discarded', 'quarantined'));
-- A replay whose sender died may be in the topic twice: it fails once.
create unique index dead_letters_replay on dead_letters (replay_id) where replay_id is not null;

-- One command of an operator that sends dead letters into the input topic again; its letters are chosen when it is made.
create table replay_runs (
  id bigint generated always as identity primary key,
  created_at timestamptz not null default now(),
  actor text not null,
  reason text not null,
  filter jsonb not null
);

-- One dead letter's way through the input topic again. Its id travels as a header, so that what the lane did with it is
-- known even where the one who sent it never heard that it arrived.
create table replays (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  dead_letter_id bigint not null,
  count int not null, -- how often its content has been replayed, this time included
  lane smallint not null, -- by its key, when it was asked for
  sent_at timestamptz, -- null: nobody knows whether the topic has it
  result text check (result in ('applied', 'held', 'anomaly', 'duplicate', 'refused', 'failed_again')), -- null: not met yet
  detail text,
  finished_at timestamptz
);
create index replays_run on replays (run_id, id);
create index replays_dead_letter on replays (dead_letter_id);
create index replays_open on replays (run_id) where result is null;

alter table deliveries add column replay_id bigint;
create index deliveries_replay on deliveries (replay_id) where replay_id is not null;

-- suspect_offset and suspect_deaths: the record that was alone in flight, and how often it was when its owner was gone.
alter table lanes
  add column is_owned boolean not null default false, -- an owner has fenced, and not let go of it in order
  add column owner_deaths int not null default 0; -- owners that never let go, since records were last applied

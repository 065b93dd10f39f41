-- Somebody wants to know now what a provider says, and has not been answered: such a question goes before what is only
-- due. Until now it was told by a due time of ten years ago.
alter table timers add column wished_at timestamptz;
update timers set wished_at = refreshed_at, due_at = refreshed_at
  where kind = 'query' and due_at < now() - interval '5 years' and refreshed_at is not null;
create index timers_wished on timers (merchant, wished_at) where wished_at is not null;

-- Questions to providers (timers of the kind `query`): who asks in whose name, and what came of it.
alter table timers
  add column merchant text collate "C", -- whose credentials ask; null: filed by a lane, and not looked at yet
  add column asked_at timestamptz,
  add column answer text check (length(answer) <= 300), -- the last one, for people
  add column done_at timestamptz, -- asked often enough: it goes when its order needs it no more
  add column refreshed_at timestamptz; -- when somebody wanted to know at once
-- By merchant, so that one whose provider is slow keeps no other waiting. In no way of an expiry or a held fact.
create index timers_queries on timers (merchant, due_at) where kind = 'query';

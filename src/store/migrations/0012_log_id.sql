-- Which log a lane reads, once it is another one than at first. A dead letter is named by its place, and a place in
-- another log is another one.

alter table lanes add column log_id text; -- null: the first; else the topic's id, and how often it was begun anew

-- Who answered an anomaly, so that whoever comes second is told; null: it was settled by itself.
alter table anomalies add column resolved_by text;
create index anomalies_open_ids on anomalies (id) where resolved_at is null; -- the list that operators page through

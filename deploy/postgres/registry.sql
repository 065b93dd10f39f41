-- The schema registry keeps its tables apart from ours.
create database schema_registry;

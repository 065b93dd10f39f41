import type pg from 'pg'

/** The whole schema as text, from the catalogue: what migrations come to, whatever files they are in. */
export async function describeSchema(pool: pg.Pool): Promise<string> {
  const lines = async (sql: string) => (await pool.query<{ line: string }>(sql)).rows.map(({ line }) => line)
  const enums = await lines(`
    select format('enum %s: %s', t.typname, string_agg(e.enumlabel, ', ' order by e.enumsortorder)) as line
    from pg_type t join pg_enum e on e.enumtypid = t.oid where t.typnamespace = 'public'::regnamespace group by t.typname order by 1`)
  const tables = await pool.query<{ oid: number; head: string }>(`
    select c.oid, c.relname || case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) else '' end
      || case when c.relispartition then ' partition of ' || (select inhparent::regclass from pg_inherits where inhrelid = c.oid)
        || ' ' || pg_get_expr(c.relpartbound, c.oid) else '' end
      || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') as head
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by c.relname`)
  const parts = [enums.join('\n')]
  for (const { oid, head } of tables.rows) {
    const of = (sql: string) => lines(sql.replaceAll('$oid', String(oid)))
    const columns = await of(`
      select format('  %s %s%s%s%s%s', attname, format_type(atttypid, atttypmod),
        case when attcollation <> 0 and attcollation <> (select typcollation from pg_type where oid = atttypid)
          then ' collate ' || quote_ident((select collname from pg_collation where oid = attcollation)) else '' end,
        case when attnotnull then ' not null' else '' end, case when attidentity <> '' then ' identity' else '' end,
        coalesce(' default ' || pg_get_expr(adbin, adrelid), '')) as line
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = $oid and attnum > 0 and not attisdropped order by attnum`)
    const rules = await of(`
      select '  ' || conname || ': ' || pg_get_constraintdef(oid) as line from pg_constraint
      where conrelid = $oid and contype <> 'n' order by conname`)
    const indexes = await of(`
      select '  ' || regexp_replace(pg_get_indexdef(indexrelid), '^CREATE ', '') as line from pg_index
      where indrelid = $oid and not exists (select from pg_constraint where conindid = indexrelid) order by 1`)
    const triggers = await of(`
      select '  ' || regexp_replace(pg_get_triggerdef(oid), '^CREATE ', '') as line from pg_trigger
      where tgrelid = $oid and not tgisinternal order by tgname`)
    parts.push([`table ${head}`, ...columns, ...rules, ...indexes, ...triggers].join('\n'))
  }
  return `${parts.join('\n\n')}\n`
}

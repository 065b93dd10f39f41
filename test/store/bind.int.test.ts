import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  byteas,
  days,
  int2s,
  int4s,
  int8s,
  labels,
  OutOfRange,
  texts,
  timestamps,
  uuids,
} from '../../src/store/bind.ts'
import { withDatabase } from '../helpers/database.ts'

const DAY_MS = 86_400_000
const nullable = <T>(value: fc.Arbitrary<T>) => fc.array(fc.option(value, { nil: null }), { maxLength: 20 })
const text = fc.string({ unit: 'binary' }).filter((s) => !s.includes('\0') && s.isWellFormed())
const time = fc.integer({ min: -60_000_000_000_000, max: 250_000_000_000_000 })

test('what is bound as a binary array is what Postgres reads', () =>
  withDatabase(async (_, pool) => {
    await fc.assert(
      fc.asyncProperty(
        nullable(fc.integer({ min: -32_768, max: 32_767 })),
        nullable(fc.integer()),
        nullable(fc.maxSafeInteger()),
        nullable(text),
        nullable(fc.uint8Array()),
        nullable(fc.uuid()),
        nullable(time),
        async (small, medium, large, words, bytes, ids, times) => {
          const { rows } = await pool.query<Record<string, unknown>>(
            `select array_to_json($1::int2[])::text as small, array_to_json($2::int4[])::text as medium,
               array_to_json($3::int8[])::text as large, array_to_json($4::text[])::text as words,
               (select json_agg(encode(b, 'hex') order by n)::text from unnest($5::bytea[]) with ordinality x (b, n)) as bytes,
               array_to_json($6::uuid[])::text as ids,
               (select json_agg((extract(epoch from t) * 1000)::int8 order by n)::text from unnest($7::timestamptz[]) with ordinality x (t, n)) as times,
               (select json_agg((extract(epoch from d::timestamp) / 86400)::int8 order by n)::text from unnest($8::date[]) with ordinality x (d, n)) as days,
               array_to_json($9::fact_kind[])::text as kinds`,
            [
              int2s(small),
              int4s(medium),
              int8s(large),
              texts(words),
              byteas(bytes.map((b) => (b === null ? null : Buffer.from(b)))),
              uuids(ids),
              timestamps(times),
              days(times),
              labels(['disputed', null]),
            ],
          )
          const read = Object.fromEntries(
            Object.entries(rows[0] ?? {}).map(([name, json]) => [name, JSON.parse((json as string | null) ?? '[]')]),
          )
          expect(read).toEqual({
            ...{ small, medium, large, words, ids, times },
            bytes: bytes.map((b) => (b === null ? null : Buffer.from(b).toString('hex'))),
            days: times.map((ms) => (ms === null ? null : Math.floor(ms / DAY_MS))),
            kinds: ['disputed', null],
          })
        },
      ),
      { numRuns: 60 },
    )
  }))

test('what does not fit is refused with the code that Postgres gives', () => {
  for (const bind of [
    () => int2s([40_000]),
    () => int4s([2 ** 31]),
    () => int8s([2 ** 53]),
    () => int8s([1.5]),
    () => int8s([Number.NaN]),
    () => timestamps([1e17]),
    () => days([1e18]),
    () => uuids(['no-uuid']),
  ]) {
    expect(bind).toThrow(OutOfRange)
    expect(bind).toThrow(expect.objectContaining({ code: '22003' }))
  }
})

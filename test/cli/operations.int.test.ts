import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createInstallation, type Installation } from '../helpers/installation.ts'
import { shellBlocks, wordsOf } from '../helpers/shell-blocks.ts'
import { paidonce } from './paidonce.ts'

const lines = shellBlocks(readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8'))

/** Files that a command writes; one that is there already is refused. */
const directory = mkdtempSync(join(tmpdir(), 'operations-'))
const wordsHere = (line: string) =>
  wordsOf(line).map((word) => (word.endsWith('.jsonl') ? join(directory, word) : word))

let it: Installation
beforeAll(async () => {
  it = await createInstallation({ partitions: 4 })
  await it.database.pool.query('insert into topology (topic, partitions) values ($1, 4)', [
    `${it.topics.prefix}payments.callback.v1`,
  ])
  await it.database.pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, halted_reason, halted_detail, halted_at)
     select $1, n, 0, 0, case n when 3 then 'flood' end, case n when 3 then 'test' end, case n when 3 then now() end
     from generate_series(0, 3) n`,
    [`${it.topics.prefix}payments.callback.v1`],
  )
})
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await it.drop()
})

test('every command of docs/operations.md does something on a running installation, in the order of the page', async () => {
  const failed: string[] = []
  for (const line of lines) {
    const { code, stdout, stderr } = await paidonce(wordsHere(line), it.env() as Record<string, string>)
    // 1: its example's order, brake or dead letter is not here, or it found what it is there to find.
    if (code !== 0 && code !== 1) failed.push(`${line}: ${code}: ${stdout}${stderr}`)
  }
  expect(failed).toEqual([])
}, 180_000)

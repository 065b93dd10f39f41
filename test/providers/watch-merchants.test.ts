import { generateKeyPairSync, hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFileReader } from '../../src/providers/seen-files.ts'
import { loadMerchants, reloadMerchants } from '../../src/providers/merchants.ts'
import { watchMerchants, type MerchantsWatch } from '../../src/providers/watch-merchants.ts'
import { createLog } from '../../src/runtime/log.ts'
import { until } from '../helpers/until.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OTHER = 'whsec_AAAQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

let directory = ''
let lines: { level: string; msg: string; problems?: string[]; added?: string[]; removed?: string[] }[] = []
let outcomes: string[] = []
let watch: MerchantsWatch

const write = (name: string, content: string | object) =>
  writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content))
const shop = (...secretFiles: string[]) => ({ worker: { secretFiles } })
/** No two merchants may have the same secret. */
const own = (merchant: string) => {
  write(`${merchant}.secret`, `whsec_${hash('sha256', merchant, 'base64')}`)
  write(`${merchant}.json`, shop(`${merchant}.secret`))
}
function start(intervalMs = 0) {
  watch = watchMerchants(loadMerchants(directory), {
    ...{ directory, intervalMs, onReload: (outcome) => outcomes.push(outcome) },
    onUnsettled: (isUnsettled) => outcomes.push(isUnsettled ? 'unsettled' : 'settled'),
    log: createLog('test', 'info', { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) }),
  })
}
const looks = async (count: number) => {
  for (let look = 0; look < count; look++) await watch.look()
}
const has = (merchant: string) => watch.merchants.find('worker', merchant) !== undefined

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'merchants-'))
  lines = []
  outcomes = []
  write('secret', SECRET)
  write('shop.json', shop('secret'))
})
afterEach(() => {
  watch.stop()
  rmSync(directory, { recursive: true, force: true })
})

test('nothing changed: nothing is loaded', async () => {
  start()
  const before = watch.merchants.find('worker', 'shop')
  await looks(5)
  expect([outcomes, lines]).toEqual([[], []])
  expect(watch.merchants.find('worker', 'shop')).toBe(before)
})

test('a new merchant is there once its files have rested for an interval', async () => {
  start()
  own('books')
  await looks(1)
  expect([has('books'), outcomes]).toEqual([false, []])
  await looks(1)
  expect([has('books'), outcomes]).toEqual([true, ['loaded']])
  expect(lines).toMatchObject([{ msg: 'merchants reloaded', added: ['books'], removed: [] }])
  await looks(3)
  expect(outcomes).toEqual(['loaded'])
})

test('a removed merchant is gone, a changed secret too', async () => {
  own('books')
  start()
  const [before] = [watch.merchants.find('worker', 'shop')]
  rmSync(join(directory, 'books.json'))
  write('secret', OTHER)
  await looks(2)
  expect(has('books')).toBe(false)
  expect(watch.merchants.names).toEqual(['shop'])
  expect(watch.merchants.find('worker', 'shop')).not.toBe(before)
  expect(lines).toMatchObject([{ removed: ['books'] }])
})

test('while files are being written nothing is loaded, and nothing is said', async () => {
  start()
  for (const half of [
    '{"wor',
    '{"worker": {"secretF',
    '{"worker": {"secretFiles": ["sec',
    '{"worker": {"secretFiles',
  ]) {
    write('books.json', half)
    await looks(1)
  }
  own('books')
  await looks(1)
  expect([outcomes, lines]).toEqual([[], []])
  await looks(1)
  expect([outcomes, has('books')]).toEqual([['loaded'], true])
})

describe('files that change at every look', () => {
  let version = 0
  const churn = async (count: number) => {
    for (let look = 0; look < count; look++) {
      write('books.json', '{'.repeat(++version))
      await looks(1)
    }
  }
  const told = () => lines.filter(({ msg }) => msg.includes('change all the time'))

  test('are told once, at the twelfth, and that it is over with the load', async () => {
    start()
    await churn(11)
    expect([outcomes, lines]).toEqual([[], []])
    await churn(30)
    expect(outcomes).toEqual(['unsettled'])
    expect(lines).toMatchObject([{ level: 'warn', msg: 'merchants not reloaded yet: their files change all the time' }])
    own('books')
    await looks(2)
    expect([outcomes, has('books')]).toEqual([['unsettled', 'settled', 'loaded'], true])
    await churn(12)
    expect(told()).toHaveLength(2)
  })

  test('and become what is in use without a load: over too', async () => {
    start()
    await churn(12)
    rmSync(join(directory, 'books.json'))
    await looks(1)
    expect(outcomes).toEqual(['unsettled', 'settled'])
  })

  test('are told each time that somebody asks for a load', async () => {
    for (let i = 0; i < 30; i++) own(`m${i}`)
    start()
    for (let asked = 0; asked < 2; asked++) {
      let done = false
      const reload = watch.reload().then(() => (done = true))
      while (!done) {
        write('books.json', '{'.repeat(++version))
        await setImmediate()
      }
      await reload
    }
    expect(outcomes).toEqual(['unsettled', 'unsettled'])
    expect(told()).toHaveLength(2)
  })

  test('a pause in between counts anew', async () => {
    start()
    for (let pause = 0; pause < 3; pause++) {
      await churn(11)
      rmSync(join(directory, 'books.json'))
      await looks(1)
    }
    expect([outcomes, lines]).toEqual([[], []])
  })
})

test('one mistake keeps all that was loaded, is told once with every other, and is gone when it is repaired', async () => {
  own('books')
  start()
  const before = watch.merchants.find('worker', 'shop')
  write('books.json', '{"worker": "whsec_dont-print-me"')
  write('toys.json', shop('absent'))
  write('shop.json', shop('secret', 'secret'))
  await looks(2)
  expect(outcomes).toEqual(['refused'])
  expect([watch.merchants.names, watch.merchants.find('worker', 'shop')]).toEqual([['books', 'shop'], before])
  expect(lines).toMatchObject([
    {
      level: 'error',
      problems: [
        '✖ books.json: is no valid JSON, or names a field twice in one section, or is nested too deeply',
        '✖ toys.json: worker.secretFiles.0: cannot read the file absent: it must exist beside this one and be readable',
      ],
    },
  ])
  expect(JSON.stringify(lines)).not.toContain('dont-print-me')
  await looks(8)
  expect([outcomes.length, lines.length]).toEqual([1, 1])

  // Another mistake is another line; the file that is named and absent is looked for.
  own('books')
  await looks(2)
  expect(lines).toHaveLength(2)
  write('absent', OTHER)
  await looks(2)
  expect(outcomes).toEqual(['refused', 'refused', 'loaded'])
  expect(watch.merchants.names).toEqual(['books', 'shop', 'toys'])
})

test('a refusal is tried again now and then, and said once', async () => {
  start()
  write('books.json', '{')
  await looks(2 + 2 * 12)
  expect(outcomes).toEqual(['refused', 'refused', 'refused'])
  expect(lines).toHaveLength(1)
})

test('a directory that disappears changes nothing', async () => {
  start()
  renameSync(directory, `${directory}-away`)
  await looks(3)
  expect([outcomes, has('shop')]).toEqual([['refused'], true])
  expect(lines[0]?.problems).toEqual([expect.stringContaining('cannot read this directory')])
  renameSync(`${directory}-away`, directory)
  await looks(2)
  expect(outcomes).toEqual(['refused', 'loaded'])
})

test('a mounted secret is renewed by a link to another directory, times and sizes the same', async () => {
  const mounted = mkdtempSync(join(tmpdir(), 'mounted-'))
  const at = new Date('2026-01-02T03:04:05Z')
  const version = (name: string, secret: string) => {
    mkdirSync(join(mounted, name))
    for (const [file, content] of [
      ['shop.json', JSON.stringify(shop('key'))],
      ['key', secret],
    ] as const) {
      writeFileSync(join(mounted, name, file), content)
      utimesSync(join(mounted, name, file), at, at)
    }
  }
  version('..1', SECRET)
  version('..2', OTHER)
  symlinkSync('..1', join(mounted, '..data'))
  for (const file of ['shop.json', 'key']) symlinkSync(join('..data', file), join(mounted, file))
  rmSync(directory, { recursive: true })
  directory = mounted
  start()
  const before = watch.merchants.find('worker', 'shop')
  await looks(2)
  expect(outcomes).toEqual([])
  symlinkSync('..2', join(mounted, '..data_tmp'))
  renameSync(join(mounted, '..data_tmp'), join(mounted, '..data'))
  await looks(2)
  expect(outcomes).toEqual(['loaded'])
  expect(watch.merchants.find('worker', 'shop')).not.toBe(before)
})

test('files outside of the directory count too', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'keys-'))
  writeFileSync(join(elsewhere, 'key'), SECRET)
  start()
  write('shop.json', shop(join(elsewhere, 'key')))
  await looks(2)
  expect(outcomes).toEqual(['loaded'])
  writeFileSync(join(elsewhere, 'key'), OTHER)
  await looks(2)
  expect(outcomes).toEqual(['loaded', 'loaded'])
  rmSync(elsewhere, { recursive: true })
})

test('on request it is loaded at once', async () => {
  start()
  own('books')
  await watch.reload()
  expect([outcomes, has('books')]).toEqual([['loaded'], true])
  write('books.json', '{')
  await watch.reload()
  await watch.reload()
  expect(outcomes).toEqual(['loaded', 'refused', 'refused'])
  expect(lines.filter(({ level }) => level === 'error')).toHaveLength(2)
  expect(has('books')).toBe(true)
})

test('what changes while it is loaded is loaded again, and never half of it taken', async () => {
  for (let i = 0; i < 30; i++) own(`m${i}`)
  start()
  own('a')
  const done = watch.reload()
  // The first files have been read by now, the last ones have not.
  for (let turn = 0; turn < 5; turn++) await setImmediate()
  write('a.json', shop('a.secret', 'a.secret'))
  own('z')
  await done
  expect([outcomes, has('z')]).toEqual([['loaded'], true])
  await looks(2)
  expect(outcomes).toEqual(['loaded'])
})

test('the interval looks by itself, until it is stopped', async () => {
  start(5)
  own('books')
  await until('it is loaded', () => has('books'))
  watch.stop()
  // One that had begun by then would be the first of the two that a change takes.
  await looks(1)
  own('toys')
  await looks(1)
  expect(has('toys')).toBe(false)
})

test('a key that is the same keeps its object, in whatever file it is', async () => {
  const pem = () =>
    generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const [one, two] = [pem(), pem()]
  write('one', one)
  write('copy-of-one', one)
  const alipay = (...publicKeyFiles: string[]) => ({
    alipay: { appIds: ['2021000000000001'], sellerIds: ['2088000000000001'], publicKeyFiles },
  })
  write('shop.json', alipay('one', 'copy-of-one'))
  const first = loadMerchants(directory)
  expect(first.keys.publicKeys.size).toBe(1)
  const [key] = first.keys.publicKeys.values()
  write('two', two)
  write('shop.json', alipay('two', 'one'))
  const second = await reloadMerchants(directory, first)
  if (second.kind === 'refused') throw new Error(second.problems.join())
  expect(second.merchants.keys.publicKeys.size).toBe(2)
  expect([...second.merchants.keys.publicKeys.values()]).toContain(key)
  write('shop.json', alipay('two'))
  const third = await reloadMerchants(directory, second.merchants)
  if (third.kind === 'refused') throw new Error(third.problems.join())
  expect([...third.merchants.keys.publicKeys.values()]).toEqual([expect.not.toSatisfy((it) => it === key)])
})

test('what is no file, or a huge one, is not read', () => {
  const { read } = createFileReader()
  mkdirSync(join(directory, 'sub'))
  write('huge', 'x'.repeat(1_048_577))
  for (const name of ['sub', 'huge', 'absent']) expect(() => read(join(directory, name))).toThrow()
  expect(() => read('/dev/zero')).toThrow('no file')
})

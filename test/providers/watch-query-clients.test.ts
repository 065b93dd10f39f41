import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createAgents } from '../../src/providers/query-http.ts'
import { loadForWatch } from '../../src/providers/query-clients.ts'
import { watchQueryClients } from '../../src/providers/watch-query-clients.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'

const directory = mkdtempSync(join(tmpdir(), 'watch-queries-'))
const made = { merchantsDir: join(directory, 'made-merchants'), queriesDir: join(directory, 'made-queries') }
const [merchantsDir, queryKeysDir] = [join(directory, 'merchants'), join(directory, 'queries')]
let elapsedMs = 0
let outcomes: string[] = []
let lines: string[] = []
let watch: ReturnType<typeof watchQueryClients>
let unsettled: boolean[] = []
beforeAll(async () => {
  await createKeys({ ...made, sendersDir: join(directory, 'senders') }, ['shop', 'books'], new Date())
}, 120_000)
afterAll(() => rmSync(directory, { recursive: true }))
beforeEach(() => {
  for (const to of [merchantsDir, queryKeysDir]) rmSync(to, { recursive: true, force: true })
  cpSync(made.merchantsDir, merchantsDir, { recursive: true })
  cpSync(made.queriesDir, queryKeysDir, { recursive: true })
  rmSync(join(queryKeysDir, 'books.json'))
  outcomes = []
  unsettled = []
  lines = []
  const clock = { now: () => new Date(), elapsedMs: () => elapsedMs }
  watch = watchQueryClients(
    loadForWatch({ queryKeysDir, merchantsDir, clock, agents: createAgents() }),
    createLog('test', 'info', { write: (line) => void lines.push(line) }),
    (outcome) => outcomes.push(outcome),
    (isUnsettled) => unsettled.push(isUnsettled),
  )
})

const looks = async (count: number) => {
  for (let look = 0; look < count; look++) await watch.look()
}
const names = () => [...watch.current().keys()]
type Sections = Record<string, Record<string, unknown>>
const sections = (where: string, merchant: string) =>
  JSON.parse(readFileSync(join(where, `${merchant}.json`), 'utf8')) as Sections
const write = (where: string, merchant: string, all: object) =>
  writeFileSync(join(where, `${merchant}.json`), JSON.stringify(all))

test('a merchant that is added is asked about, one that is removed no more; nothing changed, nothing is loaded', async () => {
  const first = watch.current()
  await looks(3)
  expect([names(), outcomes, watch.current() === first]).toEqual([['shop'], [], true])
  cpSync(join(made.queriesDir, 'books.json'), join(queryKeysDir, 'books.json'))
  await looks(1)
  // Not before it is at rest.
  expect(names()).toEqual(['shop'])
  await looks(1)
  expect([names(), outcomes]).toEqual([['books', 'shop'], ['loaded']])
  rmSync(join(queryKeysDir, 'shop.json'))
  await looks(2)
  expect([names(), outcomes]).toEqual([['books'], ['loaded', 'loaded']])
})

test('a set with a mistake in either folder is refused as a whole, said once and without a secret', async () => {
  const first = watch.current()
  cpSync(join(made.queriesDir, 'books.json'), join(queryKeysDir, 'books.json'))
  writeFileSync(join(queryKeysDir, 'shop.wechatpay.pem'), '-----BEGIN PRIVATE KEY-----\nsecret\n')
  await looks(30)
  expect([watch.current() === first, outcomes[0], new Set(outcomes)]).toEqual([true, 'refused', new Set(['refused'])])
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('shop.json: wechatpay.privateKeyFile')
  expect(lines[0]).not.toContain('secret\\n')
  cpSync(join(made.queriesDir, 'shop.wechatpay.pem'), join(queryKeysDir, 'shop.wechatpay.pem'))
  await looks(2)
  expect([names(), outcomes.at(-1)]).toEqual([['books', 'shop'], 'loaded'])
  // What verifies the answers is in the other folder.
  const { wechatpay, ...others } = sections(merchantsDir, 'shop')
  write(merchantsDir, 'shop', others)
  await looks(2)
  expect(outcomes.at(-1)).toBe('refused')
  write(merchantsDir, 'shop', { ...others, wechatpay })
  await looks(2)
  expect(outcomes.at(-1)).toBe('loaded')
})

test('a reload begins no new allowance: a merchant’s pace at a provider goes on', async () => {
  const paced = (more: object) => {
    const all = sections(queryKeysDir, 'shop')
    write(queryKeysDir, 'shop', { stripe: { ...all['stripe'], baseUrl: 'http://127.0.0.1:9', ...more } })
  }
  paced({ requestsPerSec: 0.01 })
  await looks(2)
  const ask = async () => {
    const answer = await watch
      .current()
      .get('shop')
      ?.get('stripe')
      ?.ask({ kind: 'payment', outTradeNo: 'A1' }, AbortSignal.timeout(5_000))
    return answer?.kind === 'try_later' ? answer.reason : answer?.kind
  }
  expect([await ask(), await ask()]).toEqual(['network', 'rate_limited'])
  paced({ timeoutMs: 1_000 })
  await looks(2)
  expect(outcomes).toEqual(['loaded', 'loaded'])
  expect(await ask()).toBe('rate_limited')
  elapsedMs += 100_000
  expect(await ask()).toBe('network')
})

test('files that never rest are told of, and taken once they do', async () => {
  const name = join(queryKeysDir, 'books.json')
  const text = readFileSync(join(made.queriesDir, 'books.json'), 'utf8')
  for (let n = 1; n <= 14; n++) {
    writeFileSync(name, text + ' '.repeat(n))
    await looks(1)
  }
  expect([names(), outcomes, unsettled]).toEqual([['shop'], [], [true]])
  await looks(1)
  expect([names(), outcomes, unsettled]).toEqual([['books', 'shop'], ['loaded'], [true, false]])
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Gateway } from '../../src/gateway/start.ts'
import { withGatewayAlone } from '../helpers/gateway-alone.ts'
import { metric } from '../helpers/gateway.ts'
import { head, post, rawConnection } from '../helpers/http.ts'
import {
  createRotatingMerchant,
  SENDERS,
  type KeySet,
  type RotatingMerchant,
  type Sender,
} from '../helpers/rotation.ts'
import { until } from '../helpers/until.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rotation-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

interface Sent {
  readonly order: string
  readonly sender: Sender
  readonly keys: string
  /** What the senders may sign with when it was sent; a retired key is one that somebody stole. */
  readonly genuine: boolean
  readonly status: number
}

/** Senders that never rest: each takes the next merchant, kind and key, and waits for its answer. */
function load(gateway: Gateway, merchants: readonly RotatingMerchant[], now: () => Date) {
  const agent = new Agent({ keepAlive: true })
  const sent: Sent[] = []
  let signing: readonly (readonly KeySet[])[] = []
  let stolen: readonly (readonly KeySet[])[] = []
  let count = 0
  let running = true
  const send = async () => {
    while (running) {
      const turn = count++
      const at = turn % merchants.length
      const [merchant, sender] = [merchants[at], SENDERS[Math.floor(turn / merchants.length) % SENDERS.length]]
      const genuine = turn % 5 !== 0 || (stolen[at]?.length ?? 0) === 0
      const sets = (genuine ? signing : stolen)[at] ?? []
      const keys = sets[turn % sets.length]
      if (merchant === undefined || sender === undefined || keys === undefined) throw new Error('nothing to send')
      const order = `R${turn}`
      const { status } = await post(gateway.port, merchant.sign(sender, keys, order, now()), { agent })
      sent.push({ order, sender, keys: keys.name, genuine, status })
    }
  }
  return {
    sent,
    start: () => Array.from({ length: 8 }, send),
    /** From now on; resolves when a few more of everything have been answered. */
    sign: async (next: { signing: readonly (readonly KeySet[])[]; stolen?: readonly (readonly KeySet[])[] }) => {
      signing = next.signing
      stolen = next.stolen ?? []
      const enough = sent.length + 120
      await until('the senders have gone on', () => sent.length >= enough)
    },
    stop: () => {
      running = false
      agent.destroy()
    },
  }
}

test('keys are added, switched, ended and removed under load: no genuine callback is refused, no retired key is taken', async () => {
  const merchants = [createRotatingMerchant(dir, 'shop'), createRotatingMerchant(dir, 'books')]
  const keysOf = (set: string, how: 'certificate' | 'public key') => merchants.map((it) => it.newKeys(set, how))
  const [a, b, c] = [keysOf('a', 'certificate'), keysOf('b', 'public key'), keysOf('c', 'certificate')]
  const both = (sets: readonly (readonly KeySet[])[]) => merchants.map((_, at) => sets.flatMap((set) => set[at] ?? []))
  const hold = (...sets: readonly (readonly [keys: readonly KeySet[], validUntil?: Date])[]) => {
    for (const [at, merchant] of merchants.entries())
      merchant.hold(
        ...sets.flatMap(([set, validUntil]) => {
          const keys = set[at]
          return keys === undefined ? [] : [{ keys, ...(validUntil === undefined ? {} : { validUntil }) }]
        }),
      )
  }
  let shiftMs = 0
  const now = () => new Date(Date.now() + shiftMs)
  hold([a])

  await withGatewayAlone(
    async ({ gateway, orders }) => {
      const reloads = () => metric(gateway, 'paidonce_merchants_reloads_total{outcome="loaded"}')
      const loaded = async (before: number) => {
        await until('the files are loaded', async () => (await reloads()) > before)
      }
      const senders = load(gateway, merchants, now)
      const first = senders.sign({ signing: both([a]) })
      const running = senders.start()
      await first

      // A broken file of one merchant holds up nobody.
      let before = await reloads()
      writeFileSync(join(dir, 'toys.json'), '{"worker": {"secretFi')
      await until('it is refused', async () => (await metric(gateway, 'paidonce_merchants_reload_failed')) === 1)
      await senders.sign({ signing: both([a]) })
      rmSync(join(dir, 'toys.json'))
      await loaded(before)
      expect(await metric(gateway, 'paidonce_merchants_reload_failed')).toBe(0)

      before = await reloads()
      hold([b], [a])
      await loaded(before)
      await senders.sign({ signing: both([a, b]) })

      // The old key gets its end, and the new senders are known; nothing is loaded when the end comes.
      before = await reloads()
      const end = new Date(Math.ceil(now().getTime() / 1_000) * 1_000 + 60_000)
      hold([c], [b], [a, end])
      await loaded(before)
      await senders.sign({ signing: both([a, b, c]) })
      await senders.sign({ signing: both([b, c]) })
      before = await reloads()
      shiftMs += end.getTime() - now().getTime() + 1_000
      await senders.sign({ signing: both([b, c]), stolen: both([a]) })
      expect(await reloads()).toBe(before)

      // And another is taken out.
      await senders.sign({ signing: both([c]), stolen: both([a]) })
      hold([c])
      await loaded(before)
      await senders.sign({ signing: both([c]), stolen: both([a, b]) })
      senders.stop()
      await Promise.allSettled(running)

      const { sent } = senders
      const genuine = sent.filter((it) => it.genuine)
      expect(genuine.filter(({ status }) => status !== 200)).toEqual([])
      const retired = sent.filter((it) => !it.genuine)
      expect(new Set(retired.map(({ keys }) => keys))).toEqual(new Set(['a', 'b']))
      expect(new Set(retired.map(({ sender }) => sender))).toEqual(new Set(SENDERS))
      // 503 where the sender names its key: ours may be missing, so it shall come again.
      expect(new Set(retired.map(({ status }) => status))).toEqual(new Set([401, 503]))
      const published = new Set(orders())
      expect(genuine.every(({ order }) => published.has(order))).toBe(true)
      expect(retired.some(({ order }) => published.has(order))).toBe(false)
    },
    { merchantsDir: dir, env: { MERCHANTS_RELOAD_MS: '20' }, clock: { now, elapsedMs: () => performance.now() } },
  )
}, 60_000)

test('a request that is under way keeps the keys that it began with', async () => {
  const merchant = createRotatingMerchant(dir, 'shop')
  const [old, next] = [merchant.newKeys('old', 'public key'), merchant.newKeys('next', 'public key')]
  merchant.hold({ keys: old })
  await withGatewayAlone(
    async ({ gateway, orders }) => {
      const { path, headers, rawBody } = merchant.sign('wechatpay', old, 'BEGUN', new Date())
      const connection = await rawConnection(gateway.port)
      connection.write(head(path, { ...headers, 'content-length': rawBody.length, expect: '100-continue' }))
      connection.write(rawBody.subarray(0, 10))
      await until('the gateway has read its head', () => connection.received().includes('100 Continue'))
      merchant.hold({ keys: next })
      await gateway.reloadMerchants()
      const late = await post(gateway.port, merchant.sign('wechatpay', old, 'LATE', new Date()))
      expect(late.status).toBe(503)
      connection.write(rawBody.subarray(10))
      await until('it is answered', () => connection.received().includes('200 OK'))
      connection.socket.destroy()
      expect(orders()).toEqual(['BEGUN'])
    },
    { merchantsDir: dir, env: { MERCHANTS_RELOAD_MS: '0' } },
  )
})

import type { VerifiedMessage } from '../../../src/providers/provider.ts'
import { partitionFor } from '../../../src/runtime/kafka/partition.ts'
import type { Callback } from '../../../src/schemas/callback.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { createOrders } from '../../../src/store/create-orders.ts'
import { fileCommand } from '../../../src/store/file-command.ts'
import { releaseBrake } from '../../../src/store/release-brake.ts'
import { resolveCommand } from '../../../src/store/resolve-command.ts'
import { setBrake } from '../../../src/store/set-brake.ts'
import { allowedResolutions } from '../../../src/orders/resolve.ts'
import type { BrakeEventType } from '../../../src/orders/brake.ts'
import type { AnomalyKind } from '../../../src/orders/model.ts'
import { partitionName } from '../kafka/broker.ts'
import type { Host } from '../world/queue.ts'
import { Violation } from '../oracle/violation.ts'
import type { Gateway } from './gateway.ts'
import { BASE_MS } from '../world/scheduler.ts'
import type { Action } from './plan.ts'
import { createAttempts } from './attempts.ts'
import { APP, inputLog, type World } from './world.ts'

export interface Actors {
  readonly begin: (action: Action) => void
  /** Nothing is asked any more that has no answer yet. */
  readonly areDone: () => boolean
}

const HASH = Buffer.alloc(32, 7)

/** Providers, the merchant's order service, operators: each asks until it has an answer. */
export function createActors(world: World, gateway: () => Gateway, outside: Host): Actors {
  const { scheduler, network, random, server } = world
  const attempt = createAttempts(world, outside)
  let open = 0

  /** Tries again until it did not fail. */
  const insist = (what: string, ask: () => Promise<boolean>) => {
    open++
    const once = () => {
      ask().then(
        (isDone) => {
          if (isDone) open--
          else again()
        },
        () => again(),
      )
    }
    const again = () => void scheduler.at(300 + random.next() * 1_500, outside, `${what} again`, once)
    once()
  }
  const laneOf = (outTradeNo: string) => partitionFor(outTradeNo, world.plan.partitions)

  const post = (merchant: string, messages: readonly VerifiedMessage[]) =>
    new Promise<boolean>((resolve) => {
      const at = gateway()
      let isAnswered = false
      const answer = (isAccepted: boolean) => {
        if (isAccepted) assertPublished(world, merchant, messages)
        scheduler.at(network.latencyMs(), outside, `callback ${isAccepted ? 'accepted' : 'refused'}`, () => {
          if (!isAnswered) resolve(isAccepted)
          isAnswered = true
        })
      }
      scheduler.at(network.latencyMs(), at.host, 'POST', () => at.post(merchant, messages, answer))
      scheduler.at(5_000, outside, 'no answer', () => {
        if (!isAnswered) resolve(false)
        isAnswered = true
      })
    })

  const begin = (action: Action): void => {
    switch (action.kind) {
      case 'callback': {
        insist('callback', () => post(action.merchant, action.messages))
        return
      }
      case 'raw': {
        writeRaw(world, action)
        return
      }
      case 'create': {
        insist('create', async () => {
          const order = { body: action.body, lane: laneOf(action.body.outTradeNo) }
          const [result] = await attempt('create', (pool, onStep) => createOrders(pool, APP, [order], onStep))
          return result?.kind === 'created' || result?.kind === 'same'
        })
        return
      }
      case 'close': {
        const { merchant, outTradeNo, key: idempotencyKey } = action
        const request = { merchant, outTradeNo, idempotencyKey, bodyHash: HASH, body: '{}', actor: 'shop' }
        insist('close', async () => {
          await attempt('command', (pool, onStep) => fileCommand(pool, APP, { kind: 'close', ...request }, onStep))
          return true
        })
        return
      }
      case 'resolve': {
        const command = chooseAnswer(world, action)
        if (command === undefined) return
        insist('resolve', async () => {
          await attempt('command', (pool, onStep) => fileCommand(pool, APP, command, onStep))
          return true
        })
        return
      }
      case 'brake': {
        insist('brake', async () => {
          const { merchant, outTradeNo } = action
          const scope = { merchant, outTradeNo, eventType: action.eventType as BrakeEventType | null }
          const request = { ...scope, actor: 'ann', reason: 'look' }
          await attempt('brake', (pool, onStep) => setBrake(pool, APP, INPUT_TOPIC, request, onStep))
          return true
        })
        return
      }
      case 'release': {
        releaseAll()
        return
      }
    }
  }
  const releaseAll = () => {
    for (const { committed } of server.database.tables.brakes.cells.values())
      if (committed?.isReleased === false)
        insist('release', async () => {
          const request = { id: committed.id, merchant: null, actor: 'ann', reason: 'done' }
          await attempt('brake', (pool, onStep) => releaseBrake(pool, APP, INPUT_TOPIC, request, onStep))
          return true
        })
  }
  return { begin, areDone: () => open === 0 }
}

/** Whoever is answered with success may forget the callback: it must be in the log. */
function assertPublished(world: World, merchant: string, messages: readonly VerifiedMessage[]): void {
  for (const message of messages) {
    const lanes = Array.from({ length: world.plan.partitions }, (_, lane) => lane)
    const isThere = lanes.some((lane) =>
      inputLog(world, lane).records.some(({ value }) => {
        const callback = world.codec.read(value) as Callback | undefined
        return callback?.merchant === merchant && callback.facts === message.facts
      }),
    )
    if (!isThere) world.fail(new Violation('acknowledged', `a callback about ${message.outTradeNo} is in no log`))
  }
}

function writeRaw(world: World, { key, message, merchant }: Action & { kind: 'raw' }): void {
  const callback: Callback | undefined =
    message === undefined
      ? undefined
      : {
          ...{ merchant, provider: 'wechatpay', source: 'callback', receivedAtMs: BASE_MS, rawHeaders: {} },
          ...{ ...message, instead: null, rawBody: Buffer.alloc(0) },
        }
  const value = callback === undefined ? Buffer.from('?') : world.codec.codec.encode(INPUT_TOPIC, callback)
  const partition = partitionName(INPUT_TOPIC, partitionFor(key, world.plan.partitions))
  world.broker.produce(partition, [{ key: Buffer.from(key), value, headers: {} }])
}

function chooseAnswer({ server, random }: World, { key, actor }: Action & { kind: 'resolve' }) {
  const { anomalies, orders } = server.database.tables
  const open = [...anomalies.cells.values()].flatMap(({ committed }) => committed ?? [])
  if (open.length === 0) return undefined
  const { id, orderId, kind, cause } = random.pick(open)
  const order = [...orders.cells.values()].find(({ committed }) => committed?.id === orderId)?.committed
  if (order === undefined) return undefined
  const allowed = allowedResolutions(order.status, { kind: kind as AnomalyKind, cause })
  const resolution = random.pick(allowed)
  const { merchant, outTradeNo } = order
  return resolveCommand({ id, merchant, outTradeNo }, { resolution, reason: 'seen', actor, idempotencyKey: key })
}

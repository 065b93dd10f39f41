import { eventId } from '../../src/orders/identity.ts'
import { DEFAULT_ROUTES } from '../../src/orders/routes.ts'
import { createPlainProducer } from '../../src/runtime/kafka/plain-producer.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createCodec } from '../../src/schemas/codec.ts'
import { FULFILLMENT_TOPICS, INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { AMOUNT_MINOR, MERCHANT, type Installation } from './installation.ts'
import { groupTool } from './groups.ts'
import { stackEnv } from './stack.ts'

const KINDS = ['ship', 'deduct', 'grant'] as const
const STEP = 5_000

/** So many paid orders, with what three events each leave in Postgres and in the topics, as lanes would have. */
export async function fillOutbox(it: Installation, orders: number): Promise<void> {
  const { topics, database } = it
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL } = stackEnv()
  const log = createLog('test', 'silent')
  const codec = await createCodec(SCHEMA_REGISTRY_URL, topics.prefix, log)
  const names = FULFILLMENT_TOPICS.map((topic) => topics.name(topic))
  const producer = await createPlainProducer({ brokers: KAFKA_BROKERS.split(','), ssl: false }, names, log)
  const next = new Map<number, number>()
  for (let at = 0; at < orders; at += STEP) {
    const lane = (at / STEP) % topics.partitions
    const count = Math.min(STEP, orders - at)
    const from = next.get(lane) ?? 0
    next.set(lane, from + count * KINDS.length)
    const keys = Array.from({ length: count }, (_, n) => `order-${at + n}`)
    const events = keys.flatMap((key, n) => {
      const cause = `payment_succeeded/wechatpay:tx-${key}`
      return KINDS.map((kind, index) => {
        const topic = DEFAULT_ROUTES[kind][0] ?? ''
        const money = { amountMinor: AMOUNT_MINOR, currency: 'CNY', paymentRef: `wechatpay:tx-${key}` }
        const id = eventId(MERCHANT, key, cause, kind, topic)
        const laneSeq = from + n * KINDS.length + index
        return {
          eventId: id,
          kind,
          merchant: MERCHANT,
          outTradeNo: key,
          sequence: index + 1,
          lane,
          laneSeq,
          cause,
          ...money,
          topic,
        }
      })
    })
    const rows = database.pool.query(
      `with o as (
         insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency, accepted_ref, sequence)
         select $1, k, $2, 'paid', $3, 'CNY', 'wechatpay:tx-' || k, 3 from unnest($4::text[]) k returning id, out_trade_no
       ), f as (
         insert into facts (order_id, event_type, provider_ref, amount_minor, currency, amount_kind, event_time, outcome, lane, kafka_offset)
         select id, 'payment_succeeded', 'wechatpay:tx-' || out_trade_no, $3, 'CNY', 'none', now(), 'applied', $2, 0 from o
       )
       insert into events (lane, lane_seq, topic, event_id, kind, order_id, merchant, key, sequence, cause, amount_minor, currency,
         payment_ref, occurred_at)
       select $2, e.seq, e.topic, e.id, e.kind, o.id, $1, e.key, e.n, 'payment_succeeded/wechatpay:tx-' || e.key, $3, 'CNY',
         'wechatpay:tx-' || e.key, now()
       from unnest($5::int8[], $6::text[], $7::uuid[], $8::text[], $9::text[], $10::int[]) as e (seq, topic, id, kind, key, n)
       join o on o.out_trade_no = e.key`,
      [
        ...[MERCHANT, lane, AMOUNT_MINOR, keys],
        ...[events.map((e) => e.laneSeq), events.map((e) => e.topic), events.map((e) => e.eventId)],
        ...[events.map((e) => e.kind), events.map((e) => e.outTradeNo), events.map((e) => e.sequence)],
      ],
    )
    const sent = FULFILLMENT_TOPICS.map(async (topic) => {
      const some = events.filter((event) => event.topic === topic)
      for (let i = 0; i < some.length; i += 1_000) {
        // What the schema has no field for is left out by the codec.
        const messages = some.slice(i, i + 1_000).map((event) => {
          const rest = { occurredAtMs: 0, receivedAtMs: null, attrs: null, payload: null }
          return { key: event.outTradeNo, value: codec.encode(topic, { ...event, ...rest }) }
        })
        await producer.send({ topic: topics.name(topic), partition: lane, messages }, 20_000)
      }
    })
    await Promise.all([rows, ...sent])
  }
  await producer.close()
  for (const [lane, ledger] of next) {
    await database.pool.query(
      'insert into lanes (topic, lane, start_offset, applied_offset, next_seq, settled_seq) values ($1, $2, 0, 0, $3, $3)',
      [topics.name(INPUT_TOPIC), lane, ledger],
    )
    await groupTool(it).set('ledger', lane, ledger, true)
  }
  await database.pool.query('analyze')
}

import avro from 'avsc'
import type { Capture, FaultLine, LogLine, Row, Sample, SentLine, TopicRecord } from '../../chaos/checker/capture.ts'
import { read, type ReadMessage } from '../../chaos/checker/reading.ts'

/** A capture in which one thing is wrong, by the clause that must say so. */
export type Corruption = readonly [clause: string, corrupt: (good: Capture) => Capture]

function first<T>(what: string, some: Iterable<T>, test: (one: T) => boolean = () => true): T {
  for (const one of some) if (test(one)) return one
  throw new Error(`the good capture has no ${what}: play more orders`)
}

const isSent = (line: LogLine): line is SentLine => 'requestSha256' in line
const genuine = (good: Capture) =>
  first(
    'genuine delivery',
    good.log.filter(isSent),
    (line) => line.heard === 'success' && line.provider === 'wechatpay' && line.facts?.length === 1,
  )
/** As WeChat Pay is to be told. */
const REFUSED: Partial<SentLine> = {
  ...{ heard: 'failure', status: 503 },
  answer: 'application/json {"code":"FAIL","message":"失败"}',
}
const changeSent = (good: Capture, hash: string, change: Partial<SentLine>): Capture => ({
  ...good,
  log: good.log.map((line) => (isSent(line) && line.requestSha256 === hash ? { ...line, ...change } : line)),
})
const changeOneSent = (good: Capture, change: Partial<SentLine>): Capture => {
  const one = genuine(good)
  return { ...good, log: good.log.map((line) => (line === one ? { ...line, ...change } : line)) }
}
const changeRow = (good: Capture, table: keyof Capture['tables'], row: Row, change: Row): Capture => ({
  ...good,
  tables: { ...good.tables, [table]: good.tables[table].map((one) => (one === row ? { ...one, ...change } : one)) },
})
const addRow = (good: Capture, table: keyof Capture['tables'], row: Row): Capture => ({
  ...good,
  tables: { ...good.tables, [table]: [...good.tables[table], row] },
})

/** Decodes a record, changes a field, and encodes it again. */
function rewrite(good: Capture, record: TopicRecord, change: object): TopicRecord {
  const bytes = Buffer.from(record.value ?? '', 'base64')
  const type = avro.Type.forSchema(good.schemas[String(bytes.readUInt32BE(1))] as avro.Schema)
  const value = Buffer.concat([
    bytes.subarray(0, 5),
    type.toBuffer({ ...(type.fromBuffer(bytes.subarray(5)) as object), ...change }),
  ])
  return { ...record, value: value.toString('base64') }
}
const isAt = (a: TopicRecord) => (b: TopicRecord) =>
  a.topic === b.topic && a.partition === b.partition && a.offset === b.offset
/** In both, the final reading and the one on the way. */
const inBoth = (good: Capture, change: (records: readonly TopicRecord[]) => TopicRecord[]): Capture => ({
  ...good,
  ...{ output: change(good.output), probe: change(good.probe) },
})
const replaceInBoth = (good: Capture, record: TopicRecord, by: TopicRecord) =>
  inBoth(good, (records) => records.map((one) => (isAt(record)(one) ? by : one)))

const events = (good: Capture) => read(good).messages.filter(({ message }) => message.sequence !== undefined)
const anEvent = (good: Capture) =>
  first('event with money', events(good), ({ message }) => typeof message.amountMinor === 'number')
/** The last event of a partition. */
const lastEvent = (good: Capture): ReadMessage =>
  first('last event', events(good), ({ record }) =>
    good.output.every(
      (one) => one.topic !== record.topic || one.partition !== record.partition || one.offset <= record.offset,
    ),
  )
const ledgerOf = (good: Capture, lane: number) => good.places.find(({ partition }) => partition === lane)?.ledger ?? 0
const rowOf = (good: Capture, { message, topic }: ReadMessage) =>
  first('row of the event', good.tables.events, (row) => row['event_id'] === message.eventId && row['topic'] === topic)
/** Besides the machine's own stalls, which are the capture's as well. */
export const addFault = (good: Capture, fault: FaultLine): Capture => ({ ...good, faults: [...good.faults, fault] })
/** More than the stalls of any crowded machine excuse. */
const LATE_MS = 60_000
const isOutput = ({ topic }: { topic: string }) => topic.startsWith('fulfillment.')
const aSample = (what: Sample['what'], value: number, atMs = 0): Sample => ({
  ...{ name: 'gateway-1', what, value, atMs, pid: 1 },
})
const aFault = { kind: 'planted', target: 'test', fromMs: 0, untilMs: 0, observed: 'seen' } as const

export const aStall = { ...aFault, kind: 'stall_of_the_machine', hinders: [] } as const
/** A gateway counted a success after 4 s. */
export const addLateOne = (good: Capture): Capture => ({
  ...good,
  samples: [...good.samples, aSample('success_late', 1)],
})

export const CORRUPTIONS: readonly Corruption[] = [
  [
    'O1.success_without_record',
    (good) => ({ ...good, log: [...good.log, { ...genuine(good), requestSha256: 'f'.repeat(64) }] }),
  ],
  [
    'O2.signature_invalid',
    (good) => {
      const { record, callback } = first(
        'callback',
        read(good).callbacks,
        ({ callback: { provider } }) => provider === 'wechatpay',
      )
      const changed = rewrite(good, record, { rawHeaders: { ...callback.rawHeaders, 'wechatpay-nonce': 'another' } })
      // Its copies are of the same bytes and prove the same once: all of them.
      const hash = read(good).callbacks.find((one) => one.record === record)?.requestSha256
      const copies = read(good)
        .callbacks.filter((one) => one.requestSha256 === hash)
        .map((one) => one.record)
      return {
        ...good,
        input: good.input.map((one) =>
          copies.some(isAt(one))
            ? {
                ...one,
                value: isAt(one)(record)
                  ? changed.value
                  : rewrite(good, one, { rawHeaders: { ...callback.rawHeaders, 'wechatpay-nonce': 'another' } }).value,
              }
            : one,
        ),
      }
    },
  ],
  ['O2.forged_published', (good) => changeSent(good, genuine(good).requestSha256 ?? '', { defect: 'wrong_signature' })],
  [
    'O2.stranger_published',
    (good) => {
      const hash = genuine(good).requestSha256
      return { ...good, log: good.log.filter((line) => !isSent(line) || line.requestSha256 !== hash) }
    },
  ],
  [
    'O2.facts_differ',
    (good) => {
      const line = genuine(good)
      const facts = (line.facts ?? []).map((fact) => ({ ...fact, eventTimeMs: fact.eventTimeMs + 1_000 }))
      return changeSent(good, line.requestSha256 ?? '', { facts })
    },
  ],
  [
    'O2.merchant_differs',
    (good) => changeSent(good, genuine(good).requestSha256 ?? '', { ...REFUSED, merchant: 'somebody' }),
  ],
  [
    'O3.order_differs',
    (good) =>
      changeRow(
        good,
        'orders',
        first('paid order', good.tables.orders, (row) => row['status'] === 'paid'),
        { status: 'shipped' },
      ),
  ],
  [
    'O3.facts_differ',
    (good) => changeRow(good, 'facts', first('fact', good.tables.facts), { amount_minor: 1_000_001 }),
  ],
  [
    'O3.events_differ',
    (good) => {
      const event = anEvent(good)
      const changed = replaceInBoth(good, event.record, rewrite(good, event.record, { paymentRef: 'other:1' }))
      return changeRow(changed, 'events', rowOf(good, event), { payment_ref: 'other:1' })
    },
  ],
  [
    'O3.anomalies_differ',
    (good) =>
      changeRow(
        good,
        'anomalies',
        first('open anomaly', good.tables.anomalies, (row) => row['resolved_at'] === null),
        {
          resolved_at: '2026-01-01T00:00:00Z',
        },
      ),
  ],
  [
    'O4.lost',
    (good) => {
      const { record } = anEvent(good)
      return inBoth(good, (records) => records.filter((one) => !isAt(record)(one)))
    },
  ],
  [
    'O4.duplicated',
    (good) => {
      const { record } = lastEvent(good)
      return inBoth(good, (records) => [...records, { ...record, offset: record.offset + 1_000 }])
    },
  ],
  [
    'O4.phantom',
    (good) => {
      const { record, message } = first('last event below the ledger', events(good), (one) => {
        const isLast = good.output.every(
          (other) =>
            other.topic !== one.record.topic ||
            other.partition !== one.record.partition ||
            other.offset <= one.record.offset,
        )
        return isLast && one.message.laneSeq < ledgerOf(good, one.message.lane) - 1
      })
      const eventId = '00000000-0000-5000-8000-000000000000'
      const laneSeq = ledgerOf(good, message.lane) - 1
      const forged = rewrite(good, record, { eventId, laneSeq, outTradeNo: 'nobody' })
      const whole = {
        ...forged,
        key: 'nobody',
        offset: record.offset + 1_000,
        headers: { ...record.headers, ce_id: eventId },
      }
      return inBoth(good, (records) => [...records, whole])
    },
  ],
  [
    'O4.content_differs',
    (good) => {
      const { record } = anEvent(good)
      return replaceInBoth(good, record, rewrite(good, record, { cause: 'another' }))
    },
  ],
  ['O4.vanished', (good) => ({ ...good, probe: [...good.probe, { ...anEvent(good).record, offset: 100_000 }] })],
  [
    'O4.unseen',
    (good) => {
      const { record } = anEvent(good)
      return { ...good, probe: good.probe.filter((one) => !isAt(record)(one)) }
    },
  ],
  [
    'O5.beyond_ledger',
    (good) => {
      const { message } = lastEvent(good)
      const lane = first('lane', good.tables.lanes, (row) => row['lane'] === message.lane)
      const lower = { ...changeRow(good, 'lanes', lane, { next_seq: message.laneSeq }) }
      return {
        ...lower,
        places: lower.places.map((place) =>
          place.partition === message.lane ? { ...place, ledger: message.laneSeq } : place,
        ),
      }
    },
  ],
  [
    'O5.torn_transaction',
    (good) => {
      const markers = good.batches.filter((batch) => isOutput(batch) && batch.marker === 'COMMIT')
      const marker = first('partition with two transactions', markers, (one) =>
        markers.some(
          (two) =>
            two.topic === one.topic &&
            two.partition === one.partition &&
            two.producerId === one.producerId &&
            two.baseOffset > one.baseOffset,
        ),
      )
      return { ...good, batches: good.batches.filter((batch) => batch !== marker) }
    },
  ],
  [
    'O5.apart_from_ledger',
    (good) => {
      const marker = first('transaction', good.batches, (batch) => isOutput(batch) && batch.marker === 'COMMIT')
      return {
        ...good,
        batches: good.batches.map((batch) =>
          batch.topic === marker.topic &&
          batch.partition === marker.partition &&
          batch.baseOffset <= marker.baseOffset &&
          batch.producerId === marker.producerId
            ? { ...batch, producerId: 999_999 }
            : batch,
        ),
      }
    },
  ],
  [
    'O6.out_of_order',
    (good) => {
      const one = first('two neighbours', events(good), ({ record }) =>
        good.output.some(isAt({ ...record, offset: record.offset + 1 })),
      ).record
      const two = first('neighbour', good.output, isAt({ ...one, offset: one.offset + 1 }))
      return inBoth(good, (records) =>
        records.map((record) =>
          isAt(one)(record)
            ? { ...two, offset: one.offset }
            : isAt(two)(record)
              ? { ...one, offset: two.offset }
              : record,
        ),
      )
    },
  ],
  [
    'O6.wrong_partition',
    (good) => {
      const { record, message } = first('event that may be of another lane', events(good), (one) =>
        good.places.some(
          ({ partition, ledger }) => partition !== one.message.lane && (ledger ?? 0) > one.message.laneSeq,
        ),
      )
      const lane = first(
        'other lane',
        good.places,
        ({ partition, ledger }) => partition !== message.lane && (ledger ?? 0) > message.laneSeq,
      ).partition
      return replaceInBoth(good, record, rewrite(good, record, { lane }))
    },
  ],
  [
    'O7.zombie_write',
    (good) => {
      const markers = good.batches.filter((batch) => isOutput(batch) && batch.marker === 'COMMIT')
      const marker = first('partition with two transactions', markers, (one) =>
        markers.some(
          (two) =>
            two.topic === one.topic &&
            two.partition === one.partition &&
            two.producerId === one.producerId &&
            two.baseOffset > one.baseOffset,
        ),
      )
      return {
        ...good,
        batches: good.batches.map((batch) => (batch === marker ? { ...batch, epoch: batch.epoch + 5 } : batch)),
      }
    },
  ],
  [
    'O7.open_transaction',
    (good) => {
      const marker = first('marker', good.batches.toReversed(), (batch) => isOutput(batch) && batch.marker === 'COMMIT')
      return { ...good, batches: good.batches.filter((batch) => batch !== marker) }
    },
  ],
  [
    'O7.held_back',
    (good) => {
      const end = first('end', good.ends, ({ topic }) => topic.includes('fulfillment.'))
      return { ...good, ends: good.ends.map((one) => (one === end ? { ...one, stableEnd: one.end - 1 } : one)) }
    },
  ],
  [
    'O8.left_behind',
    (good) => ({
      ...good,
      places: good.places.map((place, n) => (n === 0 ? { ...place, input: (place.input ?? 0) - 1 } : place)),
    }),
  ],
  ['O8.halted', (good) => changeRow(good, 'lanes', first('lane', good.tables.lanes), { halted_reason: 'flood' })],
  ['O8.slow_recovery', (good) => addFault(good, { ...aFault, recoveryMs: 60_000 })],
  [
    'O9.sums_differ',
    (good) => {
      const { record, message } = anEvent(good)
      return replaceInBoth(good, record, rewrite(good, record, { amountMinor: (message.amountMinor ?? 0) + 1 }))
    },
  ],
  [
    'O9.parts_differ',
    (good) => {
      // One provider's event by one more, another's of the same merchant, currency and kind by one less.
      const provider = ({ message }: ReadMessage) => /\/([a-z0-9-]+):/.exec(message.cause ?? '')?.[1]
      const withMoney = events(good).filter(({ message }) => typeof message.amountMinor === 'number')
      const twins = (one: ReadMessage) =>
        withMoney.filter(
          (other) =>
            (['merchant', 'currency', 'kind'] as const).every((name) => other.message[name] === one.message[name]) &&
            provider(other) !== provider(one),
        )
      const one = first('events of the same kind by two providers', withMoney, (event) => twins(event).length > 0)
      const two = first('event of another provider', twins(one))
      return [one, two].reduce(
        (capture, { record, message }, n) =>
          replaceInBoth(
            capture,
            record,
            rewrite(good, record, { amountMinor: (message.amountMinor ?? 0) + (n === 0 ? 1 : -1) }),
          ),
        good,
      )
    },
  ],
  // Another gateway got no turn, which excuses nothing.
  ['O10.late_at_gateway', (good) => addFault(addLateOne(good), { ...aStall, target: 'gateway-2' })],
  ['O10.untimed', (good) => ({ ...good, samples: good.samples.filter(({ what }) => what !== 'success_timed') })],
  ['O10.late_success', (good) => changeOneSent(good, { latencyMs: LATE_MS })],
  ['O10.late_failure', (good) => changeOneSent(good, { ...REFUSED, latencyMs: LATE_MS })],
  ['O10.unanswered', (good) => changeOneSent(good, { latencyMs: LATE_MS, heard: 'no_answer' })],
  ['O10.wrong_form', (good) => changeOneSent(good, { answer: 'application/json {"code":"OK"}' })],
  ['O11.poison_missing', (good) => addFault(good, { ...aFault, poison: [{ partition: 0, offset: 100_000 }] })],
  [
    'O11.dead_letter_unexpected',
    (good) => addRow(good, 'dead_letters', { lane: 0, kafka_offset: 1, reason: 'undecodable', detail: '' }),
  ],
  ['O12.memory', (good) => ({ ...good, samples: [...good.samples, aSample('rss_bytes', 2_000_000_000)] })],
  ['O12.handles', (good) => ({ ...good, samples: [...good.samples, aSample('handles', 100_000)] })],
  ['O12.in_flight', (good) => ({ ...good, samples: [...good.samples, aSample('in_flight', 100_000)] })],
  ['O12.unsent', (good) => ({ ...good, samples: [...good.samples, aSample('unsent', 100_000)] })],
  ['O12.pool', (good) => ({ ...good, samples: [...good.samples, aSample('pool_waiting', 100_000)] })],
  [
    'O12.memory_grows',
    (good) => ({
      ...good,
      // 30 MB a minute for ten minutes, and never near the limit of what may be there at once.
      samples: [
        ...good.samples,
        ...Array.from({ length: 300 }, (_, n) => aSample('rss_bytes', 100_000_000 + n * 1_000_000, n * 2_000)),
      ],
    }),
  ],
  [
    'O13.secret_leaked',
    (good) => {
      const { value } = first(
        'secret',
        good.secrets,
        ({ name }) => name.includes('alipay') || name.includes('wechatpay'),
      )
      return {
        ...good,
        logs: [
          ...good.logs,
          { name: 'planted.log', text: JSON.stringify({ msg: Buffer.from(value).toString('base64') }) },
        ],
      }
    },
  ],
  [
    'O13.secret_shown',
    (good) => {
      const { value } = first('secret', good.secrets, ({ name }) => name === 'api token')
      return {
        ...good,
        cli: [...good.cli, { name: 'planted.txt', text: `token ${Buffer.from(value).toString('hex')}` }],
      }
    },
  ],
  ['O14.action_without_row', (good) => addFault(good, { ...aFault, actions: ['brake_set'] })],
  ['O14.row_without_action', (good) => addRow(good, 'operator_actions', { action: 'lane_skip' })],
  ['O15.malformed_log', (good) => ({ ...good, logs: [...good.logs, { name: 'planted.log', text: 'paid order 1\n' }] })],
  [
    'O16.two_values',
    (good) => {
      const { record } = anEvent(good)
      const other = rewrite(good, record, { payload: 'another' })
      return { ...good, probe: good.probe.map((one) => (isAt(record)(one) ? other : one)) }
    },
  ],
  [
    'O16.replicas_differ',
    (good) => {
      const [batch] = good.batches.filter(isOutput)
      const copy = good.batches.map((one) => ({ ...one, node: 'another', crc: one === batch ? one.crc + 1 : one.crc }))
      return { ...good, batches: [...good.batches, ...copy] }
    },
  ],
  [
    'O16.aborted_read',
    (good) => {
      const marker = first('marker', good.batches, (batch) => isOutput(batch) && batch.marker === 'COMMIT')
      return {
        ...good,
        batches: good.batches.map((batch) => (batch === marker ? { ...batch, marker: 'ABORT' as const } : batch)),
      }
    },
  ],
]

import { partitionName } from '../kafka/broker.ts'
import type { LogRecord } from '../kafka/partition-log.ts'
import type { Tables } from '../postgres/tables.ts'
import { must } from './violation.ts'

/** As the events of all topics have it. */
interface Seen {
  readonly eventId: string
  readonly lane: number
  readonly laneSeq: number
}

export interface OutputOracle {
  readonly onCommitted: (partition: string, records: readonly LogRecord[]) => void
  /** The ledger of a lane, committed by a transaction that has ended. */
  readonly onLedger: (lane: number, ledger: number) => void
  /** All that the ledger says is out must be out, once, and nothing else. */
  readonly check: (lane: number) => void
  /** The ledger that is certain, whether it can be read already or not. */
  readonly onDecided: (lane: number, ledger: number) => void
  readonly ledgerOf: (lane: number) => number
  /** Rows that were committed once and are no more, as Postgres was set back: what of them is out stays out. */
  readonly lost: Map<string, string>
  /** A tool has set the ledger of a lane, which is kept as it was found while the lane is halted. */
  readonly onTool: (lane: number, ledger: number) => void
  readonly visible: () => number
}

export function createOutputOracle(tables: Tables, read: (value: Buffer | null) => object | undefined): OutputOracle {
  const ledgers = new Map<number, number>()
  const decided = new Map<number, number>()
  const bySeq = new Map<string, string>()
  const ids = new Set<string>()
  const last = new Map<string, { offset: number; laneSeq: number }>()
  const counts = new Map<number, number>()
  const tools = new Set<string>()
  const lost = new Map<string, string>()

  const see = (partition: string, record: LogRecord) => {
    const { eventId, lane, laneSeq } = read(record.value) as Seen
    const key = `${lane}/${laneSeq}`
    const said = () => `event ${laneSeq} of lane ${lane} in ${partition} at ${record.offset}`
    must(partition === partitionName(partition.slice(0, partition.lastIndexOf('/')), lane), 'home', said)
    must(!bySeq.has(key) && !ids.has(eventId), 'twice', said)
    bySeq.set(key, eventId)
    ids.add(eventId)
    counts.set(lane, (counts.get(lane) ?? 0) + 1)
    const before = last.get(partition)
    const isNext = before === undefined || (record.offset > before.offset && laneSeq > before.laneSeq)
    must(isNext, 'order', () => `${said()} after ${before?.laneSeq}`)
    last.set(partition, { offset: record.offset, laneSeq })
    const row = tables.events.cells.get(key)?.committed
    const isKnown = row?.eventId === eventId || lost.get(key) === eventId
    must(isKnown, 'phantom', () => `${said()} is in no table`)
  }
  return {
    lost,
    onTool: (lane, ledger) => void tools.add(`${lane}/${ledger}`),
    visible: () => bySeq.size,
    onDecided: (lane, ledger) => void decided.set(lane, Math.max(ledger, decided.get(lane) ?? 0)),
    ledgerOf: (lane) => decided.get(lane) ?? 0,
    onCommitted: (partition, records) => {
      for (const record of records) see(partition, record)
    },
    onLedger: (lane, ledger) => {
      const before = ledgers.get(lane) ?? 0
      const isFine = ledger >= before || tools.has(`${lane}/${ledger}`)
      must(isFine, 'ledger', () => `the ledger of lane ${lane} fell to ${ledger}`)
      ledgers.set(lane, Math.max(before, ledger))
    },
    check: (lane) => {
      const ledger = ledgers.get(lane) ?? 0
      for (let seq = 0; seq < ledger; seq++) {
        const key = `${lane}/${seq}`
        const row = tables.events.cells.get(key)?.committed
        const isOut = row === undefined ? bySeq.has(key) : bySeq.get(key) === row.eventId
        must(isOut, 'missing', () => `event ${seq} of lane ${lane}, ledger ${ledger}`)
      }
      const count = counts.get(lane) ?? 0
      must(count === ledger, 'ledger', () => `${count} events of lane ${lane} are out, its ledger is ${ledger}`)
    },
  }
}

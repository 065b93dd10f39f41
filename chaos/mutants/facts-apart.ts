import type { LaneRecord } from '../../src/processor/lane-types.ts'
import type { Steps } from '../../src/processor/steps.ts'
import type { Transaction } from '../../src/runtime/postgres.ts'

/** After SIGUSR2 the process dies between its two transactions, the first time that there is something to lose. */
let isArmed = false
process.on('SIGUSR2', () => (isArmed = true))

/**
 * Facts are recorded in a transaction of their own, as by "look first whether I have seen it, then work": whoever dies
 * between the two has seen what it never did, and the next one takes it for a duplicate.
 */
export const factsApart = (steps: Steps): Steps => ({
  ...steps,
  applyBatch: async (session, position, records, end) => {
    const record = async (tx: Transaction) => ({ commit: true, value: await insertFacts(tx, records, position.lane) })
    const fresh = await session.transaction(record, () => undefined)
    if (isArmed && fresh.length > 0) process.kill(process.pid, 'SIGKILL')
    // The work that follows knows by a list that these are new; to the product's own statements they must not be there.
    const transaction: typeof session.transaction = (work, onCommitSent) =>
      session.transaction(async (tx) => {
        await deleteFacts(tx, fresh)
        return work(tx)
      }, onCommitSent)
    return steps.applyBatch({ ...session, transaction }, position, records, end)
  },
})

interface FactName {
  readonly order_id: string
  readonly event_type: string
  readonly provider_ref: string
}

async function insertFacts(tx: Transaction, records: readonly LaneRecord[], lane: number): Promise<FactName[]> {
  const facts = records.flatMap(({ content, offset }) =>
    content.kind === 'callback'
      ? content.callback.facts.map((fact) => ({
          ...fact,
          ...{ offset, merchant: content.callback.merchant, outTradeNo: content.callback.outTradeNo },
        }))
      : [],
  )
  const { rows } = await tx.query<FactName>(
    `insert into facts (order_id, event_type, provider_ref, payment_ref, amount_minor, currency, amount_kind, event_time,
                        outcome, lane, kafka_offset)
     select o.id, (f->>'eventType')::fact_kind, f->>'providerRef', f->>'paymentRef', (f->>'amountMinor')::bigint,
            f->>'currency', (f->>'amountKind')::amount_kind, to_timestamp((f->>'eventTimeMs')::bigint / 1000.0), 'noted', $2,
            (f->>'offset')::bigint
     from jsonb_array_elements($1::jsonb) as f
     join orders o on o.merchant = f->>'merchant' and o.out_trade_no = f->>'outTradeNo' and o.status <> 'awaited'
     on conflict do nothing returning order_id, event_type::text, provider_ref`,
    [JSON.stringify(facts), lane],
  )
  return rows
}

const deleteFacts = (tx: Transaction, facts: readonly FactName[]) =>
  tx.query(
    `delete from facts using jsonb_to_recordset($1::jsonb) as f(order_id bigint, event_type fact_kind, provider_ref text)
     where facts.order_id = f.order_id and facts.event_type = f.event_type and facts.provider_ref = f.provider_ref
       and facts.outcome = 'noted'`,
    [JSON.stringify(facts)],
  )

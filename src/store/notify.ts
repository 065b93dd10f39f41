import type { Queryable } from '../runtime/postgres.ts'

/** Says "look now" to the owners of lanes; the payload is the lane. */
export const lanesChannel = (appId: string) => `${appId}_lanes`
/** Says that a command is finished; the payload is its id. */
export const commandsChannel = (appId: string) => `${appId}_commands`

/** Says "look now" to the reconcilers. */
export const queriesChannel = (appId: string) => `${appId}_queries`
/** Says that a provider was asked about an order because somebody wanted to know; the payload is the order's id. */
export const askedChannel = (appId: string) => `${appId}_asked`

/** Sent when the transaction commits, and never otherwise. A hint only: whoever listens also looks by a slow timer. */
export const notifyLanes = (db: Queryable, appId: string, lanes: readonly number[]) =>
  notify(db, lanesChannel(appId), lanes)

export const notifyCommands = (db: Queryable, appId: string, commandIds: readonly number[]) =>
  notify(db, commandsChannel(appId), commandIds)

export const notifyQueries = (db: Queryable, appId: string, orderId: number) =>
  notify(db, queriesChannel(appId), [orderId])

export const notifyAsked = (db: Queryable, appId: string, orderId: number) => notify(db, askedChannel(appId), [orderId])

async function notify(db: Queryable, channel: string, payloads: readonly number[]): Promise<void> {
  if (payloads.length === 0) return
  await db.query('select pg_notify($1, payload) from unnest($2::text[]) payload', [
    channel,
    [...new Set(payloads)].map(String),
  ])
}

import type pg from 'pg'
import { Gauge, type Registry } from 'prom-client'

type Counts = Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount'>

/** A gauge of a process's Postgres pools, read when it is scraped; nothing is counted on the way of a query. */
export function createPoolGauge(registers: Registry[]) {
  const pools = new Map<string, Counts>()
  new Gauge({
    name: 'paidonce_postgres_pool',
    help: 'Connections of each pool that are used and idle, and what waits for one',
    labelNames: ['pool', 'state'] as const,
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount, waitingCount }] of pools) {
        this.set({ pool, state: 'used' }, totalCount - idleCount)
        this.set({ pool, state: 'idle' }, idleCount)
        this.set({ pool, state: 'waiting' }, waitingCount)
      }
    },
  })
  return (name: string, pool: Counts): void => void pools.set(name, pool)
}

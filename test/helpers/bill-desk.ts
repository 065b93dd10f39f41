import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { billFormatOf } from '../../src/providers/bill-formats.ts'
import type { BillProvider } from '../../src/providers/bill.ts'
import { importBill, type BillDeps, type BillReport, type BillRequest } from '../../src/reconcile/bill/start.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { createMerchant, type TestMerchant } from './merchant.ts'

/** Where bills of the merchant `shop` are matched: books of its own, and a folder for the files. */
export interface BillDesk {
  readonly database: TestDatabase
  readonly merchant: TestMerchant
  readonly dir: string
  /** Writes a file. @returns its path */
  readonly save: (name: string, content: string | Buffer) => string
  /** Imports the bill of a day. @throws if another import of it runs */
  readonly match: (paths: readonly string[], given: BillGiven) => Promise<BillReport>
  readonly close: () => Promise<void>
}

export interface BillGiven {
  readonly provider: BillProvider
  readonly day: string
  /** Whose file says whose bill it must be; `shop` where left out. */
  readonly fileOf?: string
  readonly request?: Partial<BillRequest>
  readonly deps?: Partial<BillDeps>
}

export async function createBillDesk(): Promise<BillDesk> {
  const [database, merchant] = [await createDatabase(), createMerchant('shop')]
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-bills-'))
  return {
    ...{ database, merchant, dir },
    save: (name, content) => {
      const path = join(dir, name)
      writeFileSync(path, content)
      return path
    },
    match: async (paths, { provider, day, fileOf = 'shop', request = {}, deps = {} }) => {
      const format = billFormatOf(merchant.dir, fileOf, provider)
      const about = {
        provider,
        merchant: fileOf,
        day,
        paths,
        actor: 'test',
        format,
        dryRun: false,
        archiveAfterDays: 400,
      }
      const { url: databaseUrl, pool } = database
      const end = await importBill({ ...about, ...request }, { databaseUrl, pool, clock: systemClock, ...deps })
      if (end.kind !== 'done') throw new Error(end.kind)
      return end.report
    },
    close: async () => {
      await database.drop()
      merchant.remove()
      rmSync(dir, { recursive: true })
    },
  }
}

/** A report's findings in short, sorted. */
export const namedIn = ({ findings }: BillReport): string[] =>
  findings.map(({ finding, outTradeNo, ref }) => `${finding} ${outTradeNo ?? ''} ${ref ?? ''}`.trim()).sort()

import { dedupeTable } from './dedupe-table.ts'
import type { Form } from './form.ts'
import { queryFirst } from './query-first.ts'
import { redisLock } from './redis-lock.ts'
import { redisToken } from './redis-token.ts'
import { uniqueEvent } from './unique-event.ts'
import { versionColumn } from './version-column.ts'

/** The forms in the order of the table. */
export const FORMS = {
  'query status first': queryFirst,
  'Redis SETNX token': redisToken,
  'Redis lock': redisLock,
  'dedupe table': dedupeTable,
  'unique (out_trade_no, event_type)': uniqueEvent,
  'version column': versionColumn,
} satisfies Record<string, Form>
export type FormName = keyof typeof FORMS
export const isFormName = (name: string): name is FormName => Object.hasOwn(FORMS, name)

import { pino } from 'pino'
import { expect, test } from 'vitest'
import { listen } from '../../src/store/listen.ts'
import { commandsChannel, lanesChannel, notifyCommands, notifyLanes } from '../../src/store/notify.ts'
import { transaction } from '../../src/runtime/postgres.ts'
import { withDatabase } from '../helpers/database.ts'
import { until } from '../helpers/until.ts'

test('notifications come with their transaction, on both channels; a lost connection comes back and says so', () =>
  withDatabase(async (url, pool) => {
    const heard: string[] = []
    let connects = 0
    const listener = listen(
      url,
      [lanesChannel('app-1'), commandsChannel('app-1')],
      { onNotification: (channel, payload) => heard.push(`${channel} ${payload}`), onConnected: () => connects++ },
      pino({ level: 'silent' }),
    )
    await until('it listens', () => connects === 1)
    await transaction(pool, async (tx) => {
      await notifyLanes(tx, 'app-1', [3, 3, 7])
      await notifyLanes(tx, 'another', [9])
      await notifyLanes(tx, 'app-1', [])
    })
    await transaction(pool, async (tx) => {
      await notifyLanes(tx, 'app-1', [8])
      throw new Error('rolled back')
    }).catch(() => undefined)
    await notifyCommands(pool, 'app-1', [1])
    await until('all are heard', () => heard.length === 3)
    expect(heard).toEqual(['app-1_lanes 3', 'app-1_lanes 7', 'app-1_commands 1'])

    await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'paidonce-listen'
      and datname = current_database()`)
    await until('it is back', () => connects === 2)
    await notifyLanes(pool, 'app-1', [5])
    await until('it hears again', () => heard.includes('app-1_lanes 5'))
    await listener.close()
    expect(connects).toBe(2)
  }))

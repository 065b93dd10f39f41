import type { Change } from './mutant.ts'

const SESSION = 'src/processor/lane-session.ts'

/** The connection is opened anew behind the incarnation's back. */
export const OUTLIVES: readonly Change[] = [
  {
    file: SESSION,
    find: 'const client = (options.createConnection ?? createConnection)({',
    replace: 'const open = () => (options.createConnection ?? createConnection)({',
  },
  {
    file: SESSION,
    find: '  let loss: Error | undefined\n',
    replace: `  let current = open()
  let isOpen = false
  const again = async () => {
    current = open()
    current.on('error', () => undefined)
    await current.connect()
  }
  const client = {
    connect: again,
    on: () => undefined,
    end: () => current.end(),
    query: async (...args) => {
      const [sql] = args
      if (sql === 'commit' || sql === 'rollback') isOpen = false
      try {
        return await current.query(...args)
      } catch (error) {
        if ('severity' in error && error.severity !== 'FATAL') throw error
        const wasOpen = isOpen
        isOpen = false
        await again()
        if (wasOpen) throw new RolledBack('the connection was lost')
        return await current.query(...args)
      } finally {
        if (String(sql).startsWith('begin')) isOpen = true
      }
    },
  }
  let loss: Error | undefined\n`,
  },
  { file: SESSION, find: 'if (!(error instanceof pg.DatabaseError)) lose(error)', replace: 'void lose' },
  { file: SESSION, find: '      lose(error)\n      throw error', replace: '      throw error' },
]

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Packets of some ports of the loopback that do not arrive. */
export interface PacketLoss {
  readonly dropped: () => number
  readonly stop: () => void
}

const PREFIX = 'paidonce_chaos_'
const TABLE = `${PREFIX}${process.pid}`

/** @returns what it prints @throws Error with its complaint */
function nft(args: readonly string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync('nft', args, { encoding: 'utf8', ...(input && { input }) })
  if (error !== undefined) throw new Error(`nft: ${(error as NodeJS.ErrnoException).code ?? error.message}`)
  if (status !== 0) throw new Error(`nft: ${stderr.trim().split('\n')[0] ?? ''}`)
  return stdout
}

/**
 * Drops a share of the packets from and to these ports, and of no others: by the kernel's packet filter, in a table of
 * this process alone. The ports are in it for so long only, so that also of a run that was killed nothing goes on.
 */
export function losePackets(ports: readonly number[], percent: number, ms: number): PacketLoss {
  const seconds = Math.ceil(ms / 1_000)
  const lose = (which: string) => `tcp ${which} @lossy numgen random mod 100 < ${percent} counter drop`
  nft(
    ['-f', '-'],
    `table inet ${TABLE} {
  set lossy { type inet_service; flags timeout; }
  chain loss { type filter hook input priority 0; policy accept; ${lose('dport')}; ${lose('sport')}; }
}
add element inet ${TABLE} lossy { ${ports.map((port) => `${port} timeout ${seconds}s`).join(', ')} }
`,
  )
  process.once('exit', remove)
  return {
    dropped: () =>
      [...nft(['list', 'table', 'inet', TABLE]).matchAll(/counter packets (\d+)/g)].reduce(
        (sum, [, packets]) => sum + Number(packets),
        0,
      ),
    stop: () => {
      process.off('exit', remove)
      remove()
    },
  }
}

const remove = () => void spawnSync('nft', ['delete', 'table', 'inet', TABLE])

/** Why no packets can be lost here; undefined: they can. What killed runs have left goes on this occasion. */
export function whyNoLoss(): string | undefined {
  try {
    for (const [, pid = ''] of nft(['list', 'tables']).matchAll(new RegExp(`inet ${PREFIX}(\\d+)`, 'g')))
      if (!existsSync(`/proc/${pid}`)) nft(['delete', 'table', 'inet', PREFIX + pid])
    losePackets([1], 1, 1_000).stop()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

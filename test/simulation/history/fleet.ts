import type { Host } from '../world/queue.ts'
import { startSimulatedGateway, type Gateway } from './gateway.ts'
import { startSimulatedProcessor, type Processor } from './processor.ts'
import type { World } from './world.ts'

/** The processes that are there now. */
export interface Fleet {
  readonly gateway: () => Gateway
  readonly processors: () => readonly Processor[]
  readonly kill: (processor: Processor, isHeard: boolean) => void
  readonly killGateway: () => void
  readonly stop: (processor: Processor) => void
  readonly freeze: (processor: Processor, forMs: number) => void
  /** Nobody is frozen, and as many run as were planned. */
  readonly heal: () => void
}

const RESTART_MS = 3_000
const STOP_MS_MAX = 8_000

export function createFleet(world: World): Fleet {
  const { scheduler, random, group, server, plan, tally } = world
  const processors: Processor[] = []
  let started = 0
  let gateways = 0
  let gateway: Gateway | undefined

  const killHost = (host: Host, isHeard: boolean) => {
    if (gateway?.host === host) return killGateway()
    const processor = processors.find((one) => one.host === host)
    return processor !== undefined && kill(processor, isHeard)
  }
  const freezeHost = (host: Host, forMs: number) => freeze(host, forMs, 'paused at a point')
  const ends = { kill: (host: Host) => killHost(host, random.chance(0.7)), pause: freezeHost }
  const startProcessor = () => {
    const host = scheduler.host(`p${++started}`)
    scheduler.at(0, host, 'starts', () => processors.push(startSimulatedProcessor(host, world, ends)))
  }
  const startGateway = () => {
    gateway = startSimulatedGateway(scheduler.host(`g${++gateways}`), world, ends)
  }
  const remove = (processor: Processor) => {
    const index = processors.indexOf(processor)
    if (index >= 0) processors.splice(index, 1)
    return index >= 0
  }
  const end = (host: Host, isHeard: boolean, isDeath = true) => {
    if (host.state === 'gone') return
    if (isDeath) world.deaths.count++
    scheduler.end(host)
    group.silence(host)
    // The kernel closes a dead process's sockets; a dead machine's stay open.
    for (const session of server.sessionsOf(host))
      if (isHeard) scheduler.at(random.next() * 3, undefined, 'pg closed', () => server.end(session))
  }
  const kill = (processor: Processor, isHeard: boolean) => {
    if (!remove(processor)) return false
    end(processor.host, isHeard)
    scheduler.at(random.next() * RESTART_MS, undefined, 'restart', startProcessor)
    return true
  }
  const killGateway = () => {
    if (gateway !== undefined) scheduler.end(gateway.host)
    startGateway()
    return true
  }
  const freeze = (host: Host, forMs: number, what: string) => {
    if (host.state !== 'up') return false
    scheduler.freeze(host)
    group.silence(host)
    scheduler.at(forMs, undefined, `thaw ${host.name}`, () => {
      if (host.state === 'frozen') tally.count(what)
      scheduler.thaw(host)
      group.revive(host)
    })
    return true
  }
  startGateway()
  for (let count = 0; count < plan.processors; count++) startProcessor()

  return {
    gateway: () => {
      if (gateway === undefined) throw new Error('there is no gateway')
      return gateway
    },
    processors: () => processors,
    kill: (processor, isHeard) => {
      if (kill(processor, isHeard)) tally.count('kill')
    },
    killGateway: () => {
      if (killGateway()) tally.count('gateway_kill')
    },
    stop: (processor) => {
      if (!remove(processor)) return
      const { host } = processor
      scheduler.at(
        0,
        host,
        'SIGTERM',
        () =>
          void processor.stop().then(() => {
            scheduler.at(0, undefined, 'exit', () => {
              if (host.state === 'up') tally.count('stop')
              end(host, true, false)
            })
          }),
      )
      scheduler.at(STOP_MS_MAX, undefined, 'killed', () => end(host, true))
      scheduler.at(random.next() * RESTART_MS, undefined, 'restart', startProcessor)
    },
    freeze: ({ host }, forMs) => void freeze(host, forMs, 'freeze'),
    heal: () => {
      for (const { host } of processors) {
        if (host.state !== 'frozen') continue
        scheduler.thaw(host)
        group.revive(host)
      }
    },
  }
}

import { limitCpu, whyNoQuota } from '../system/cpu-quota.ts'
import { losePackets, whyNoLoss } from '../system/packet-loss.ts'
import { between, pick, type Fault, type Injected } from './fault.ts'
import { hindered, LINKS } from './links.ts'

const LOSS_PERCENT = 5
/** Of one core, for so long. */
const CPU_SHARE = 0.2
const CPU_MS = 5_000

/** TCP sends again what did not arrive, later and later. */
const losePacketsOfLink: Fault = {
  ...{ kind: 'lose_packets', group: 'link', missing: once(whyNoLoss) },
  inject: (world, random) => {
    const name = pick(random, LINKS)
    const ports = (world.links.get(name) ?? []).map(({ port }) => port)
    const holdMs = between(random, 3_000, 8_000)
    const loss = losePackets(ports, LOSS_PERCENT, 2 * holdMs)
    return Promise.resolve<Injected>({
      ...{ target: `${LOSS_PERCENT} % of ${name}`, holdMs, hinders: hindered(world, name) },
      observe: () => {
        const dropped = loss.dropped()
        return Promise.resolve(dropped > 0 ? `${dropped} packets dropped` : undefined)
      },
      heal: () => {
        loss.stop()
        return Promise.resolve()
      },
    })
  },
}

const limitCpuOfProcess: Fault = {
  ...{ kind: 'limit_cpu', group: 'cpu', missing: once(whyNoQuota) },
  inject: (world, random) => {
    const one = pick(random, [...world.gateways, ...world.processors])
    const pid = one.pid()
    if (pid === undefined) throw new Error(`${one.name} has just been killed`)
    const quota = limitCpu(`paidonce-${world.appId}-${pid}-${Date.now()}`, pid, CPU_SHARE)
    const url = world.gatewayUrls[world.gateways.indexOf(one)]
    return Promise.resolve<Injected>({
      ...{ target: `${one.name} to ${100 * CPU_SHARE} %`, holdMs: CPU_MS, hinders: url === undefined ? [] : [url] },
      observe: () => {
        const { times, ms } = quota.throttled()
        return Promise.resolve(times > 0 ? `held up ${times} times, ${ms} ms in all` : undefined)
      },
      heal: () => {
        quota.lift()
        return Promise.resolve()
      },
    })
  },
}

/** The machine does not change while a run lasts. */
function once(why: () => string | undefined): () => string | undefined {
  let found: { readonly why: string | undefined } | undefined
  return () => (found ??= { why: why() }).why
}

export const MACHINE_FAULTS: readonly Fault[] = [losePacketsOfLink, limitCpuOfProcess]

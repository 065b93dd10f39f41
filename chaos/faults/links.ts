import type { Random } from '../../src/simulator/random.ts'
import type { Effects, Toxic } from '../proxy/toxic.ts'
import type { World } from '../system/world.ts'
import { between, pick, type Fault, type Injected } from './fault.ts'

export const LINKS = ['senders-1', 'senders-2', 'gateway-kafka', 'processor-kafka', 'postgres'] as const
/** Kafka's numbers of the calls that matter: produce; offsets into a transaction; its end. */
const PRODUCE = 0
const ADD_PARTITIONS = 24
const END_TXN = 26
const TXN_OFFSET_COMMIT = 28

const onLink = (
  kind: string,
  links: readonly string[],
  toxic: (random: Random) => Toxic,
  [fromMs, toMs]: readonly [number, number],
  effect: keyof Effects,
): Fault => ({
  ...{ kind, group: 'link' },
  inject: (world, random) => {
    const name = pick(random, links)
    const proxies = world.links.get(name) ?? []
    // Of three brokers one or all.
    const chosen = proxies.length > 1 && random.chance(0.5) ? [pick(random, proxies)] : proxies
    const what = toxic(random)
    for (const proxy of chosen) proxy.set(what)
    const sum = () => chosen.reduce((total, proxy) => total + proxy.effects()[effect], 0)
    return Promise.resolve<Injected>({
      ...{ target: `${name} (${chosen.length} of ${proxies.length})`, holdMs: between(random, fromMs, toMs) },
      hinders: hindered(world, name),
      observe: () => Promise.resolve(sum() > 0 ? `${effect}: ${sum()}` : undefined),
      heal: () => {
        for (const proxy of chosen) proxy.set(undefined)
        return Promise.resolve()
      },
    })
  },
})

/** Who is behind a link to senders answers late; behind the others it has to answer in time all the same. */
export const hindered = (world: World, link: string) => {
  const url = world.gatewayUrls[Number(/^senders-(\d)$/.exec(link)?.[1] ?? 0) - 1]
  return url === undefined ? [] : [url]
}

export const LINK_FAULTS: readonly Fault[] = [
  onLink('cut_link', LINKS, () => ({ kind: 'cut' }), [1_000, 6_000], 'connectionsReset'),
  onLink('half_open_link', LINKS, () => ({ kind: 'half_open' }), [2_000, 8_000], 'bytesSwallowed'),
  onLink(
    'delay_link',
    LINKS,
    (random) => ({ kind: 'delay', ms: between(random, 100, 1_000), jitterMs: 500 }),
    [2_000, 8_000],
    'chunksDelayed',
  ),
  onLink('drop_responses', LINKS.slice(2), () => ({ kind: 'drop_responses' }), [500, 3_000], 'responsesDropped'),
  onLink(
    'hold_produce',
    ['gateway-kafka', 'processor-kafka'],
    (random) => ({ kind: 'hold', apiKeys: [PRODUCE], ms: between(random, 1_000, 8_000) }),
    [3_000, 6_000],
    'requestsHeld',
  ),
  onLink(
    'hold_end_of_transaction',
    ['processor-kafka'],
    (random) => ({ kind: 'hold', apiKeys: [END_TXN], ms: between(random, 3_000, 12_000) }),
    [3_000, 6_000],
    'requestsHeld',
  ),
  onLink(
    'hold_inside_transaction',
    ['processor-kafka'],
    (random) => ({
      kind: 'hold',
      apiKeys: [ADD_PARTITIONS, TXN_OFFSET_COMMIT],
      ms: between(random, 1_000, 8_000),
    }),
    [3_000, 6_000],
    'requestsHeld',
  ),
]

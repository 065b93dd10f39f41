import { factCause } from '../../src/orders/identity.ts'
import { create, nameOf, shopOf, whereItMatters } from '../orders/history.ts'
import type { Shop, Step } from '../orders/shop.ts'
import { touchedCells, type CellName } from '../orders/trace.ts'
import { endOf, type End } from './ends.ts'
import { lineOf, type Line } from './line.ts'
import type { PlayedHistory } from './play-history.ts'
import type { Seen } from './read-ends.ts'
import type { RealHistory } from './real-history.ts'

/** What the pure decision makes of a history in an order that agrees with all that is known of what the lanes saw. */
export interface Folded {
  readonly ends: ReadonlyMap<number, End>
  readonly shop: Shop
  readonly touched: ReadonlySet<CellName>
}

/** Far more than what a create and the two lanes of a group ever leave open. */
const STEPS_MAX = 20_000

/**
 * Finds the order of a history's steps that comes to what is seen. That of an order's facts is its partition's, and its
 * commands stand between them as its lane's transactions do. Open is between which of the facts that were on their way
 * it was created, and which of a group's two lanes came first: what comes first by the clock is tried first, and given
 * up where a fact came to something else. @throws Error that says where, if there is none
 */
export function foldLike(history: RealHistory, played: PlayedHistory, seen: ReadonlyMap<number, Seen>): Folded {
  const lines = history.of.orderIds.map((id) => lineOf(id, must(played.get(id)), must(seen.get(id))))
  const ends = JSON.stringify([...seen].map(([id, { end }]) => [id, end]))
  let [tried, deepest, why] = [0, -1, '']
  const note = (depth: number, what: () => string) => {
    if (depth > deepest) [deepest, why] = [depth, what()]
  }
  const explore = (path: readonly Step[], shop: Shop, at: readonly Place[]): Folded | undefined => {
    const choices = choicesAt(lines, at)
    if (choices.length === 0) {
      const folded = fold(history, path)
      const own = JSON.stringify([...folded.ends])
      if (own === ends) return folded
      note(path.length, () => `${path.map(nameOf).join(', ')}\nseen:   ${ends}\nfolded: ${own}`)
      return undefined
    }
    for (const [index, { step, expected, next }] of choices.entries()) {
      if (++tried > STEPS_MAX) return undefined
      // The first goes on with what there is; after it, that is spoilt.
      const now = index === 0 ? shop : shopOf(history.of).play(path)
      const outcome = must(now.play([step]).outcomes.at(-1))
      const longer = [...path, step]
      if (expected !== undefined && outcome.kind !== expected) {
        note(longer.length, () => `${longer.map(nameOf).join(', ')} is ${outcome.kind}, and was ${expected}`)
        continue
      }
      const found = explore(longer, now, next)
      if (found !== undefined) return found
    }
    return undefined
  }
  const found = explore(
    [],
    shopOf(history.of),
    lines.map(() => ({ index: 0, isCreated: false })),
  )
  if (found === undefined) throw new Error(`No order of arrival comes to what is seen; nearest is\n${why}`)
  return found
}

interface Place {
  readonly index: number
  readonly isCreated: boolean
}
interface Choice {
  readonly step: Step
  /** What became of it; undefined: that shows only at the end. */
  readonly expected: string | undefined
  readonly next: readonly Place[]
}

function choicesAt(lines: readonly Line[], places: readonly Place[]): Choice[] {
  const choices: (Choice & { readonly atUs: number })[] = []
  for (const [which, line] of lines.entries()) {
    const place = must(places[which])
    const going = line.steps[place.index]
    const isPast = place.index >= line.createdAfter[1] || going?.expected === undefined
    if (going !== undefined && (place.isCreated || !isPast)) {
      const next = places.with(which, { ...place, index: place.index + 1 })
      // A copy changes nothing, wherever it stands.
      if (going.expected === 'duplicate') return [{ ...going, next }]
      choices.push({ ...going, next })
    }
    if (!place.isCreated && place.index >= line.createdAfter[0]) {
      const next = places.with(which, { ...place, isCreated: true })
      // Later than the fact that it may precede, so that this is tried without it first.
      const atUs = (isPast ? line.steps[place.index - 1]?.atUs : going.atUs) ?? 0
      choices.push({ step: create(line.orderId), expected: undefined, atUs, next })
    }
  }
  return choices.sort((a, b) => a.atUs - b.atUs)
}

function fold({ of }: RealHistory, all: readonly Step[]): Folded {
  const shop = shopOf(of)
  const deliveries = new Map(of.orderIds.map((id): [number, string[]] => [id, []]))
  const closes = new Map<number, string>()
  const touched = touchedCells(() => {
    for (const step of all) {
      const outcome = must(shop.play([step]).outcomes.at(-1))
      if (step.kind === 'fact') deliveries.get(step.orderId)?.push(`${factCause(step.fact)} ${outcome.kind}`)
      if (step.kind === 'close' && 'status' in outcome) closes.set(step.orderId, `${outcome.kind} ${outcome.status}`)
    }
  })
  const ends = of.orderIds.map((id): [number, End] => [id, endOf(shop, id, deliveries.get(id) ?? [], closes.get(id))])
  return { ends: new Map(ends), shop, touched: whereItMatters(of, touched) }
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('something of a history is missing')
  return value
}

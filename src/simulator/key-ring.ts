import { createPrivateKey, type KeyObject } from 'node:crypto'

/** A key, when its owner signs with it, and from when on nobody may take it any more. Null: no such time. */
export interface RingKey<T> {
  readonly value: T
  readonly fromMs: number | null
  readonly untilMs: number | null
  readonly endMs: number | null
}
export type KeyRing<T> = readonly RingKey<T>[]

/** A change of keys: the old one signs until `oldUntilMs`, the new one from `newFromMs` on, both between. */
export interface Rotation {
  readonly newFromMs: number
  readonly oldUntilMs: number
  /** The end that the merchant's file gives the old one; whole seconds, as a certificate's end is. */
  readonly oldEndMs: number
}

/** The new key signs too after so many seconds, alone after twice as many; the old one ends after three times as many. */
export function rotationFrom(now: Date, afterSec: number): Rotation {
  const inSec = (sec: number) => (Math.floor(now.getTime() / 1_000) + sec) * 1_000
  return { newFromMs: inSec(afterSec), oldUntilMs: inSec(2 * afterSec), oldEndMs: inSec(3 * afterSec) }
}

export const always = <T>(value: T): RingKey<T> => ({ value, fromMs: null, untilMs: null, endMs: null })

/** One key; during a rotation the old and the new one. */
export const ringOf = <T>(newest: T, rotation?: { readonly times: Rotation; readonly old: T }): KeyRing<T> =>
  rotation === undefined
    ? [always(newest)]
    : [
        { value: newest, fromMs: rotation.times.newFromMs, untilMs: null, endMs: null },
        { value: rotation.old, fromMs: null, untilMs: rotation.times.oldUntilMs, endMs: rotation.times.oldEndMs },
      ]

/** The keys that may sign at that moment; never none. */
export const signingAt = <T>(ring: KeyRing<T>, at: Date): T[] =>
  ring
    .filter(({ fromMs, untilMs }) => (fromMs ?? -Infinity) <= at.getTime() && at.getTime() < (untilMs ?? Infinity))
    .map(({ value }) => value)

/** The keys that have an end: nobody may take them after it. */
export const endingIn = <T>(ring: KeyRing<T>): T[] =>
  ring.filter(({ endMs }) => endMs !== null).map(({ value }) => value)

export const mapRing = <T, U>(ring: KeyRing<T>, change: (value: T) => U): KeyRing<U> =>
  ring.map((key) => ({ ...key, value: change(key.value) }))

export const privateRing = (ring: KeyRing<string>): KeyRing<KeyObject> => mapRing(ring, createPrivateKey)

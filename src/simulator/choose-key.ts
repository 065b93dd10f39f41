import { endingIn, signingAt, type KeyRing } from './key-ring.ts'
import type { Delivered } from './delivered.ts'

/** The keys that a delivery is to be signed with: all that sign at that moment, or those past their end. */
export function keysFor<T>(ring: KeyRing<T>, { defect, at }: Delivered): readonly [T, ...T[]] {
  const [first, ...others] = defect === 'retired_key' ? endingIn(ring) : signingAt(ring, at)
  if (first === undefined) throw new Error('there is no key to sign with: a retired one needs a rotation')
  return [first, ...others]
}

/** One of them; which one changes from delivery to delivery, as where a provider is in the middle of a change. */
export function keyFor<T>(ring: KeyRing<T>, delivered: Delivered): T {
  const keys = keysFor(ring, delivered)
  const { messageId } = delivered.callback
  const drawn = messageId.charCodeAt(messageId.length - 1) + delivered.at.getTime()
  return keys[drawn % keys.length] ?? keys[0]
}

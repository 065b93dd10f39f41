import type { Role } from '../runtime/access-token.ts'
import type { Refusal } from './refusal.ts'

/** Who is asking. `merchant` null: every merchant. */
export interface Principal {
  readonly tokenId: number
  readonly name: string
  readonly merchant: string | null
  readonly role: Role
}

export type Action =
  | 'create_order'
  | 'read_order'
  | 'close_order'
  | 'read_command'
  | 'read_anomaly'
  | 'claim_anomaly'
  | 'resolve_anomaly'
  | 'read_brake'
  | 'set_brake'
  | 'release_brake'
  | 'read_dead_letter'
  | 'discard_dead_letter'
  | 'replay_dead_letters'

/** What is not here is refused. An operator closes and looks, but invents no orders. */
const ALLOWED: Record<Action, readonly Role[]> = {
  create_order: ['merchant', 'admin'],
  read_order: ['merchant', 'viewer', 'operator', 'admin'],
  close_order: ['merchant', 'operator', 'admin'],
  read_command: ['merchant', 'viewer', 'operator', 'admin'],
  read_anomaly: ['merchant', 'viewer', 'operator', 'admin'],
  claim_anomaly: ['operator', 'admin'],
  resolve_anomaly: ['operator', 'admin'],
  read_brake: ['merchant', 'viewer', 'operator', 'admin'],
  set_brake: ['operator', 'admin'],
  release_brake: ['operator', 'admin'],
  read_dead_letter: ['merchant', 'viewer', 'operator', 'admin'],
  discard_dead_letter: ['operator', 'admin'],
  replay_dead_letters: ['operator', 'admin'],
}

export const rolesFor = (action: Action): readonly Role[] => ALLOWED[action]
export const mayDo = (principal: Principal, action: Action) => ALLOWED[action].includes(principal.role)
export const maySee = (principal: Principal, merchant: string | null) =>
  principal.merchant === null || principal.merchant === merchant

/** Another merchant's order looks exactly like one that does not exist. */
export const NOT_FOUND: Refusal = { kind: 'not_found', detail: 'There is nothing here for this token.' }

export const forbidden = (role: Role, action: Action): Refusal => ({
  kind: 'forbidden',
  detail: `The role ${role} may not ${action.replaceAll('_', ' ')}.`,
  remedy: `Use a token with one of the roles ${ALLOWED[action].join(', ')}.`,
})
export const foreignMerchant: Refusal = {
  kind: 'forbidden',
  field: 'merchant',
  detail: 'merchant is not the one of this token.',
  remedy: 'Use a token of that merchant.',
}

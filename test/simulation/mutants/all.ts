import type { Mutant } from './mutant.ts'
import { EMISSION_MUTANTS } from './of-emission.ts'
import { GATEWAY_MUTANTS } from './of-gateway.ts'
import { GUARD_MUTANTS } from './of-guard.ts'
import { LOCK_MUTANTS } from './of-locks.ts'
import { ORDER_MUTANTS } from './of-orders.ts'
import { OWNERSHIP_MUTANTS } from './of-ownership.ts'
import { READING_MUTANTS } from './of-reading.ts'
import { WRITE_MUTANTS } from './of-writes.ts'

export const MUTANTS: readonly Mutant[] = [
  ...[...READING_MUTANTS, ...OWNERSHIP_MUTANTS, ...EMISSION_MUTANTS, ...GATEWAY_MUTANTS],
  ...[...GUARD_MUTANTS, ...LOCK_MUTANTS, ...WRITE_MUTANTS, ...ORDER_MUTANTS],
]

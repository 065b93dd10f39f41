import { KAFKA_MUTANTS } from './of-kafka.ts'
import { ORDER_MUTANTS } from './of-orders.ts'
import { POSTGRES_MUTANTS } from './of-postgres.ts'
import type { Mutant } from './mutant.ts'

export const MUTANTS: readonly Mutant[] = [...KAFKA_MUTANTS, ...POSTGRES_MUTANTS, ...ORDER_MUTANTS]

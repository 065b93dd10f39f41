import { COMPOSE, GO, JAVA, MAVEN, OPENSSL, PROMETHEUS, PSQL, REDIS, type Prerequisite } from './parts/prerequisites.ts'

/** A vitest project of the same name, and what it needs that npm does not bring. */
export interface Suite {
  readonly name: string
  readonly about: string
  readonly stack: boolean
  readonly needs: readonly Prerequisite[]
}

/** What a stack is made of: not needed where one is given. */
export const STACK: readonly Prerequisite[] = [JAVA, MAVEN, GO]

/** In the order in which they run: the quick ones first. */
export const SUITES: readonly Suite[] = [
  { name: 'pure', about: 'no services', stack: false, needs: [] },
  {
    name: 'simulation',
    about: "the product's own code on a simulated Kafka, Postgres and clock",
    stack: false,
    needs: [],
  },
  { name: 'image', about: "the Dockerfile's steps in a clean folder", stack: false, needs: [] },
  { name: 'compose', about: 'docker-compose.yml', stack: false, needs: [COMPOSE] },
  { name: 'stack', about: 'real Kafka, Postgres and schema registry', stack: true, needs: [...STACK, REDIS] },
  { name: 'dashboard', about: 'its queries against a running system', stack: true, needs: [...STACK, PROMETHEUS] },
  { name: 'faults', about: 'kills, freezes, restarts', stack: true, needs: [...STACK, REDIS] },
  {
    name: 'chaos',
    about: 'the independent checker, and five minutes of faults on three brokers',
    stack: false,
    needs: [...STACK, PSQL, OPENSSL],
  },
]

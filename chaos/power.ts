import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_DIR } from '../dev/parts/state.ts'

/** What tries the trials: how many planted wrongs they noticed, as the last whole run on this machine counted them. */
export interface Power {
  readonly commit: string
  readonly caught: number
  readonly of: number
}

/** Wrong designs in the simulation; captures with one thing wrong; processors with a broken rule. */
export const POWERS = ['mutants', 'captures', 'processors'] as const
/** The crash matrix: how many of its cells (points times kill, stop and delay) were met and ended well. */
export const CRASHES = ['crash-gateway', 'crash-processor', 'crash-paths', 'crash-api'] as const
export type PowerName = (typeof POWERS)[number] | (typeof CRASHES)[number]

const fileOf = (dir: string, name: PowerName) => join(dir, `${name}.json`)
const DIR = join(LOCAL_DIR, 'power')

export function notePower(name: PowerName, power: Power, dir = DIR): void {
  mkdirSync(dir, { recursive: true })
  writeFileSync(fileOf(dir, name), `${JSON.stringify(power)}\n`)
}

/** @returns null for what has not been run here */
export function readPowers(dir = DIR): Record<PowerName, Power | null> {
  const read = (name: PowerName): Power | null => {
    try {
      return JSON.parse(readFileSync(fileOf(dir, name), 'utf8')) as Power
    } catch {
      return null
    }
  }
  return Object.fromEntries([...POWERS, ...CRASHES].map((name) => [name, read(name)])) as Record<
    PowerName,
    Power | null
  >
}

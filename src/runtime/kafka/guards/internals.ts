import { dirname, join } from 'node:path'

/**
 * Reaches into the one version of kafkajs that the guards are written for. A guard either patches a prototype that it
 * loads here or replaces a module's exports before a module that captures them is loaded.
 */
export interface Internals {
  readonly load: (path: string) => unknown
  readonly replace: (path: string, exports: unknown) => void
}

/** Changes one thing of a kafkajs that is not used yet. */
export type Guard = (internals: Internals) => void

/** @param require the CommonJS `require` whose kafkajs is meant; its cache is the one that is written to. */
export function internalsOf(require: NodeJS.Require): Internals {
  const root = dirname(require.resolve('kafkajs/package.json'))
  const load = (path: string): unknown => require(join(root, path))
  return {
    load,
    replace: (path, exports) => {
      load(path)
      const entry = require.cache[require.resolve(join(root, path))]
      if (entry === undefined) throw new Error(`kafkajs' ${path} is not in the module cache`)
      entry.exports = exports
    },
  }
}

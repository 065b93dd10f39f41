// Builds the package export `paidonce/consumer` into dist: Node strips no types from what lies in node_modules.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const dist = join(ROOT, 'dist')
rmSync(dist, { recursive: true, force: true })
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.consumer.json')], { stdio: 'inherit' })
for (const schema of globSync('schemas/*.avsc', { cwd: join(ROOT, 'src') }))
  cpSync(join(ROOT, 'src', schema), join(dist, schema))
cpSync(join(ROOT, 'src/consumer/README.md'), join(dist, 'consumer/README.md'))

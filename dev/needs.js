// Looked at before the first file of TypeScript, which an old Node refuses with a stack trace. Plain JavaScript for that.
import { existsSync } from 'node:fs'
import process from 'node:process'
import { URL } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const isOld = major < 22 || (major === 22 && minor < 18)
const isBare = !existsSync(new URL('../node_modules/pg/package.json', import.meta.url))
if (isBare) stop('The dependencies are missing, and with them the Node that this project brings. Run: npm ci')
if (isOld)
  stop(`Node ${process.versions.node} is too old, 22.18 is needed. After npm ci, npm run takes the project's own.`)

/** @param {string} line */
function stop(line) {
  process.stderr.write(`${line}\n`)
  process.exit(3)
}

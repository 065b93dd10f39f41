import { check } from './check.ts'
import { readCapture } from './read-capture.ts'

// usage: node chaos/checker/main.ts DIR: prints the verdict as JSON; exit 0: nothing is wrong, 1: something is, 2: usage,
// 3: the capture cannot be read, so that nothing was decided.
const [dir] = process.argv.slice(2)
if (dir === undefined) {
  process.stderr.write('usage: node chaos/checker/main.ts CAPTURE_DIR\n')
  process.exitCode = 2
} else {
  try {
    const verdict = await check(readCapture(dir))
    process.stdout.write(`${JSON.stringify(verdict, undefined, 2)}\n`)
    process.exitCode = verdict.ok ? 0 : 1
  } catch (error) {
    process.stderr.write(`${dir} could not be checked: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 3
  }
}

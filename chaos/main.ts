import { randomBytes, randomInt } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { AlreadyRuns, holderOf, onlyOne } from '../dev/parts/only-one.ts'
import { GO, JAVA, MAVEN, MissingPrograms, OPENSSL, PSQL, requirePrograms } from '../dev/parts/prerequisites.ts'
import * as processes from '../dev/parts/process.ts'
import { say } from '../dev/parts/progress.ts'
import { LOCAL_DIR } from '../dev/parts/state.ts'
import { endAtHelp, usageMistake } from '../dev/parts/usage.ts'
import { commitNow } from './commit-now.ts'
import { play, type Played } from './play.ts'
import { keepFailed, replayOf } from './replay.ts'
import { tableOf } from './report-table.ts'
import { reportOf, type Report } from './report.ts'
import { releaseSmallDisk } from './system/small-disk.ts'
import { jsonOf, writeReport } from './write-report.ts'

const USAGE = `usage: npm run chaos [-- --minutes N] [--seed N] [--orders-per-sec N] [--write]

Runs the whole system on three brokers of its own, with load and faults, for N minutes (default 5), heals it, and has the
independent checker look at what is left. The same seed draws the same load and the same faults. --write puts the run's
table into docs/reliability.md and its JSON into docs/reliability/. Everything of the run stays in .local/chaos/SEED;
report.json there is also printed. What is found wrong is followed from its delivery to its events, and a failed run's
folder is kept beside the next one's of that seed. About five minutes come on top of N. Exit 0: nothing is wrong; 1:
something is, or could not be started; 2: usage; 3: a program is missing.`

async function main(): Promise<number> {
  endAtHelp(USAGE)
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
      'orders-per-sec': { type: 'string', default: '20' },
      write: { type: 'boolean', default: false },
    },
  })
  const [minutes, seed, ordersPerSec] = [values.minutes, values.seed, values['orders-per-sec']].map(Number) as [
    number,
    number,
    number,
  ]
  const isSound =
    minutes > 0 && minutes <= 600 && Number.isSafeInteger(seed) && seed > 0 && ordersPerSec >= 1 && ordersPerSec <= 200
  if (!isSound) {
    say(USAGE)
    return 2
  }
  processes.dieTogether()
  await requirePrograms([JAVA, MAVEN, GO, PSQL, OPENSSL])
  const appId = `x${Date.now().toString(36)}${randomBytes(2).toString('hex')}`
  const dir = join(LOCAL_DIR, 'chaos', String(seed))
  onlyOne(`npm run chaos -- --seed ${seed}`, `${dir}.pid`)
  releaseOldDisks()
  const failed = keepFailed(dir)
  if (failed !== undefined) say(`the failed run of that seed is kept in ${failed}`)
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  say(`chaos: ${minutes} minutes, seed ${seed}, ${ordersPerSec} orders/s; ${dir}`)
  const commit = commitNow()
  const asked = { commit, seed, minutes, ordersPerSec }
  const played = await play({ dir, appId, seed, minutes, ordersPerSec }).catch((error: unknown) => {
    say(`not judged; replay on ${commit}: ${replayOf(asked)}; logs: ${dir}`)
    throw error
  })
  const report = reportOf(played, asked)
  writeFileSync(join(dir, 'report.json'), jsonOf(report))
  say(tableOf(report))
  if (!report.ok) sayFailure(played, report, dir)
  if (values.write) writeReport(report)
  process.stdout.write(`${JSON.stringify(report)}\n`)
  return report.ok ? 0 : 1
}

/** All that was found, the first of it with its whole path, and how it is looked at again. */
function sayFailure({ verdict, senderExit }: Played, { first, replay, commit, seed }: Report, dir: string) {
  for (const { id, examples } of verdict.oracles) for (const example of examples) say(`✖ ${id} ${example}`)
  if (senderExit !== 0) say(`✖ the senders ended with ${senderExit}: ${join(dir, 'simulator.log')}`)
  if (first !== null) say(`first: ${first.oracle} ${first.what}; ${first.order ?? 'of no order'}`)
  for (const line of first?.path ?? []) say(`  ${line}`)
  say(`seed ${seed}; replay on ${commit}: ${replay}`)
  say(`look again: node chaos/checker/main.ts ${join(dir, 'capture')}; logs: ${dir}`)
}

/** Whoever was killed, as `npm test` kills what it leaves, could not release its own. */
function releaseOldDisks() {
  const runs = join(LOCAL_DIR, 'chaos')
  const seeds = readdirSync(runs).flatMap((name) => /^(\d+)\.pid$/.exec(name)?.[1] ?? [])
  for (const seed of seeds) {
    const holder = holderOf(join(runs, `${seed}.pid`))
    if (holder === undefined || holder.pid === process.pid) releaseSmallDisk(join(runs, seed, 'disk'))
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  const mistake = usageMistake(error)
  if (mistake !== undefined) say(`${mistake}\n${USAGE}`)
  else if (error instanceof MissingPrograms || error instanceof AlreadyRuns) say(error.message)
  else say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = mistake !== undefined ? 2 : error instanceof MissingPrograms ? 3 : 1
}
// Clients of stores that are gone must not keep the process.
process.exit()

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tableOf } from './report-table.ts'
import type { Report } from './report.ts'

const FILE = join(import.meta.dirname, '..', 'docs', 'reliability.md')
/** Of the JSON, beside that page. */
const FOLDER = 'reliability'

/**
 * Puts a run's table between the marks of docs/reliability.md, and its JSON into a file beside it; a run of the same seed
 * takes the older one's place.
 */
export function writeReport(report: Report, file = FILE): void {
  const name = `chaos-${report.seed}`
  const json = `${FOLDER}/${name}.json`
  mkdirSync(join(dirname(file), FOLDER), { recursive: true })
  writeFileSync(join(dirname(file), json), jsonOf(report))
  writeSection(name, `${tableOf(report)}\n\nThe same as JSON: [${name}.json](${json}).`, file)
}

export const jsonOf = (report: Report) => `${JSON.stringify(report, undefined, 2)}\n`

/** @throws Error if the document has no such marks */
export function writeSection(name: string, text: string, file = FILE): void {
  const [begin, end] = [`<!-- ${name}: written by a run -->`, `<!-- ${name}: end -->`]
  const before = readFileSync(file, 'utf8')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  const section = `${begin}\n\n${text}\n\n${end}`
  if (from >= 0 && to > from) {
    writeFileSync(file, before.slice(0, from) + section + before.slice(to + end.length))
    return
  }
  const kind = name.replace(/-\d+$/, '')
  const place = `<!-- ${kind}: runs follow -->`
  if (!before.includes(place)) throw new Error(`${file} has no place for ${name}: ${place}`)
  writeFileSync(file, before.replace(place, `${place}\n\n${section}`))
}

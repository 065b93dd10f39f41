import type { LogLine, SentLine } from './checker/capture.ts'

/** Of what was genuine and waited for its answer: how much of it was taken at the first try, and how much in the end. */
export function availability(log: readonly LogLine[]) {
  const genuine = log.filter((line): line is SentLine => 'requestSha256' in line && line.defect === 'none')
  const callbacks = [
    ...Map.groupBy(
      genuine,
      (line) => `${line.provider} ${line.merchant} ${JSON.stringify(line.facts ?? line.outTradeNo)}`,
    ),
  ].map(([, lines]) => lines.toSorted((a, b) => a.atMs - b.atMs))
  const share = (test: (lines: readonly SentLine[]) => boolean) =>
    callbacks.length === 0 ? 0 : Math.round((100_000 * callbacks.filter(test).length) / callbacks.length) / 100_000
  const isTaken = ({ heard }: SentLine) => heard === 'success'
  return {
    callbacks: callbacks.length,
    atFirst: share(([first]) => first !== undefined && isTaken(first)),
    inTheEnd: share((lines) => lines.some(isTaken)),
  }
}

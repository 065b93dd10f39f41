import type { About, Batch } from './capture.ts'

const NUMBER = (name: string) => new RegExp(`(?:^|\\s)${name}: (-?\\d+)`)
const [BASE, LAST, PID, EPOCH, CRC] = ['baseOffset', 'lastOffset', 'producerId', 'producerEpoch', 'crc'].map(
  NUMBER,
) as [RegExp, RegExp, RegExp, RegExp, RegExp]
const MARKER = /endTxnMarker: (COMMIT|ABORT)/
const FILE = /^Dumping .*\/(.+)-(\d+)\/\d+\.log$/

/**
 * What DumpLogSegments prints with `--deep-iteration` (and `--offsets-decoder` for `__consumer_offsets`): a line for each
 * batch, then one for each record.
 */
export function readSegments(node: string, text: string, { topicPrefix }: About): Batch[] {
  const batches: Batch[] = []
  let place = { topic: '', partition: 0 }
  let commits: Batch['commits'][number][] = []
  for (const line of text.split('\n')) {
    const file = FILE.exec(line)
    if (file !== null) {
      const [, topic = '', partition = ''] = file
      place = {
        topic: topic.startsWith(topicPrefix) ? topic.slice(topicPrefix.length) : topic,
        partition: Number(partition),
      }
    } else if (line.startsWith('baseOffset:')) {
      const number = (pattern: RegExp) => Number(pattern.exec(line)?.[1] ?? Number.NaN)
      commits = []
      batches.push({
        ...{ node, ...place, baseOffset: number(BASE), lastOffset: number(LAST) },
        ...{ producerId: number(PID), epoch: number(EPOCH), crc: number(CRC) },
        ...{ isTransactional: line.includes('isTransactional: true'), marker: null, commits },
      })
    } else if (line.startsWith('|')) {
      const marker = MARKER.exec(line)?.[1] as 'COMMIT' | 'ABORT' | undefined
      const last = batches.at(-1)
      if (marker !== undefined && last !== undefined) batches[batches.length - 1] = { ...last, marker }
      const commit = commitOf(line, topicPrefix)
      if (commit !== undefined) commits.push(commit)
    }
  }
  return batches
}

function commitOf(line: string, topicPrefix: string): Batch['commits'][number] | undefined {
  const parts = / key: (\{.*\}) payload: (\{.*\})$/.exec(line)
  if (parts === null) return undefined
  const key = JSON.parse(parts[1] ?? '') as { data: { group?: string; topic?: string; partition?: number } }
  const value = JSON.parse(parts[2] ?? '') as { data: { offset?: number; metadata?: string } }
  const { group, topic, partition } = key.data
  const { offset, metadata } = value.data
  if (group === undefined || topic === undefined || partition === undefined || offset === undefined) return undefined
  return { group, topic: topic.slice(topicPrefix.length), partition, offset, metadata: metadata ?? '' }
}

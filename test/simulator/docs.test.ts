import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SIMULATOR } from '../../src/simulator/config.ts'
import { DEFECTS } from '../../src/simulator/planned.ts'
import { RETRY_AFTER_SEC } from '../../src/simulator/retry-schedule.ts'
import { PROVIDER_SHARES, STORIES, STORY_SHARES, type StoryShares } from '../../src/simulator/stories.ts'

const text = readFileSync(new URL('../../docs/simulator.md', import.meta.url), 'utf8')
const rows = text.split('\n').filter((line) => line.startsWith('| `'))
const named = rows.flatMap((row) => {
  const [, names = '', ...cells] = row.split('|')
  return [...names.matchAll(/`([a-zA-Z_]+)`/g)].map(([, name], index) => ({ name, index, cells }))
})

test.for(Object.keys(SIMULATOR).filter((name) => name !== 'LOG_LEVEL'))('docs/simulator.md has %s', (name) =>
  expect(named.map((one) => one.name)).toContain(name),
)

test.for(STORIES.filter((story) => story !== 'paid'))('docs/simulator.md has %s with its share', (story) => {
  const { cells = [], index = 0 } = named.find(({ name }) => name === story) ?? {}
  expect(Number(cells[0]?.split(',')[index])).toBe(STORY_SHARES[story satisfies keyof StoryShares])
})

test('docs/simulator.md has the shares of the providers, the schedules and the defects', () => {
  expect(text).toContain(
    Object.entries(PROVIDER_SHARES)
      .map((pair) => pair.join('='))
      .join(','),
  )
  const words = (sec: number) =>
    sec < 60 ? `${sec}s` : sec <= 3_600 && sec !== 3_600 ? `${sec / 60}m` : `${sec / 3_600}h`
  for (const sender of ['alipay', 'worker'] as const)
    expect(text).toContain(RETRY_AFTER_SEC[sender].map(words).join(' '))
  expect(text.replace('60m', '1h')).toContain(RETRY_AFTER_SEC.wechatpay.map(words).join(' '))
  for (const defect of DEFECTS) expect(text).toContain(`\`${defect}\``)
})

import { expect, test } from 'vitest'
import { answerOf } from '../../src/api/command-answer.ts'

test('a reason that only a newer lane knows is passed on, with words', () => {
  const answer = answerOf({
    ...{ id: 7, kind: 'close', merchant: 'm', outTradeNo: 'A', status: 'done', createdAtMs: 0, finishedAtMs: 1 },
    result: { kind: 'refused', status: 'paid', refusal: { reason: 'from_next_year', since: 2027 } },
  })
  expect(answer).toMatchObject({
    ...{ kind: 'refused', outcome: 'refused' },
    refusal: {
      ...{ kind: 'command_refused', reason: 'from_next_year' },
      detail: expect.stringContaining('does not know') as string,
      remedy: expect.stringContaining('newer version') as string,
    },
  })
})

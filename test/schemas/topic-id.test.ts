import { expect, test } from 'vitest'
import { isOtherTopic } from '../../src/schemas/topic-id.ts'

test.each([undefined, null, ''])('an id that is not known says nothing: %o', (none) => {
  expect([isOtherTopic(none, 'a'), isOtherTopic('a', none), isOtherTopic(none, none)]).toEqual([false, false, false])
})

test('another id is another topic', () => {
  expect([isOtherTopic('a', 'b'), isOtherTopic('a', 'a')]).toEqual([true, false])
})

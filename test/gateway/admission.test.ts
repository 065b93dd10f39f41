import { expect, test } from 'vitest'
import { createAdmission } from '../../src/gateway/admission.ts'

const [A, B, C] = [{}, {}, {}]

/** How many of a route get in until it is full. */
const fill = (admission: ReturnType<typeof createAdmission>, route: object) => {
  let entered = 0
  for (; !admission.isFull(route); entered++) admission.enter(route)
  return entered
}

test('one route alone gets four fifths, another four fifths of what is left, and so on', () => {
  const admission = createAdmission(1_000)
  expect([fill(admission, A), fill(admission, B), fill(admission, C)]).toEqual([800, 160, 32])
  expect(admission.inFlight()).toBe(992)
  expect(admission.isFull({})).toBe(false)
})

test('a route that was full is not when others have left, nor when its own have', () => {
  const admission = createAdmission(10)
  expect([fill(admission, A), fill(admission, B)]).toEqual([8, 2])
  expect([admission.isFull(A), admission.isFull(B), admission.isFull(C)]).toEqual([true, true, true])
  admission.leave(A)
  expect([admission.isFull(A), admission.isFull(B), admission.isFull(C)]).toEqual([true, false, false])
  for (let i = 0; i < 4; i++) admission.leave(A)
  expect(admission.isFull(A)).toBe(false)
  for (let i = 0; i < 3; i++) admission.leave(A)
  for (let i = 0; i < 2; i++) admission.leave(B)
  expect(admission.inFlight()).toBe(0)
})

test.each([1, 2, 3])('a limit of %i is a limit', (max) => {
  expect(fill(createAdmission(max), A)).toBe(max)
})

import { z } from 'zod'
import type { Policies, Policy } from '../orders/policies.ts'

const MINUTES_MAX = 7 * 24 * 60
const MINUTES = `must be an integer from 0 to ${MINUTES_MAX}`
/** `anomaly`: a person decides, also where everybody else's is accepted. */
const PaidAfterClose = z.union(
  [
    z.literal('anomaly'),
    z.strictObject({ accept_within_minutes: z.int(MINUTES).min(0, MINUTES).max(MINUTES_MAX, MINUTES) }),
  ],
  `must be "anomaly" or {"accept_within_minutes": 0 to ${MINUTES_MAX}}`,
)
/** By kind of anomaly. Strict: a policy that is misspelt would be none. */
const PolicyOf = z.strictObject({ paid_after_close: PaidAfterClose.optional() })
const merchantName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
const File = z.strictObject({
  everybody: PolicyOf.default({}),
  merchants: z
    .record(merchantName, PolicyOf, {
      error: ({ code }) =>
        code === 'invalid_key'
          ? 'must be named by 1 to 64 of a-z, 0-9, _ and -'
          : 'must be an object: merchant to policy',
    })
    .default({}),
})
type Given = z.output<typeof PolicyOf>

/** The variable POLICIES: a JSON document, usually a file's (POLICIES_FILE). Left out: a person decides everything. */
export const policies = z
  .string()
  .default('{}')
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      // The parser's own message quotes the document.
      context.addIssue({ code: 'custom', message: 'must be a JSON document' })
      return z.NEVER
    }
  })
  .pipe(File)
  .transform(({ everybody, merchants }): Policies => ({
    everybody: policyOf(everybody, {}),
    merchants: new Map(Object.entries(merchants).map(([name, given]) => [name, policyOf(given, everybody)])),
  }))

/** What a merchant does not say is as for everybody. */
function policyOf(given: Given, everybody: Given): Policy {
  const close = given.paid_after_close ?? everybody.paid_after_close ?? 'anomaly'
  return { acceptAfterCloseMs: close === 'anomaly' ? null : close.accept_within_minutes * 60_000 }
}

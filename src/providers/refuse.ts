import type { CallbackRequest, Rejection, Verdict, VerifiedMessage } from './provider.ts'

export type Refused = Extract<Verdict, { kind: 'refused' }>
export type Verified = Extract<Verdict, { kind: 'verified' }>

export const refused = (rejection: Rejection): Refused => ({ kind: 'refused', rejection })

export const malformed = (field: string, detail?: string): Refused =>
  refused(detail === undefined ? { kind: 'malformed', field } : { kind: 'malformed', field, detail })

export const verified = (...messages: [VerifiedMessage, ...VerifiedMessage[]]): Verified => ({
  kind: 'verified',
  messages,
})

/** Refuses a header that must be there once and is not: two values would let two readers disagree. */
export function headerProblem(
  { headers, repeatedHeaders }: CallbackRequest,
  required: readonly string[],
): Refused | undefined {
  for (const header of repeatedHeaders)
    if (required.includes(header)) return refused({ kind: 'repeated_header', header })
  for (const header of required) if (!headers[header]) return refused({ kind: 'missing_header', header })
  return undefined
}

/** What an installation answers by itself, so that no anomaly waits for a person. */
export interface Policy {
  /**
   * A payment that happened no later than this after its order was closed, by the merchant or by expiry, is accepted.
   * Null: a person decides.
   */
  readonly acceptAfterCloseMs: number | null
}

export interface Policies {
  readonly everybody: Policy
  /** Of those that have their own. */
  readonly merchants: ReadonlyMap<string, Policy>
}

export const NO_POLICIES: Policies = { everybody: { acceptAfterCloseMs: null }, merchants: new Map() }

export const policyOf = ({ everybody, merchants }: Policies, merchant: string): Policy =>
  merchants.get(merchant) ?? everybody
